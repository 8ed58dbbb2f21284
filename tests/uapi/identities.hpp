// SPDX-License-Identifier: MIT
// Tests that several users run, at several levels of kernel.perf_event_paranoid.
#pragma once

#include "fixtures.hpp"

namespace metagroup::test {

// 3 is a level of Debian's kernels.
struct ParanoidOrSkip : Paranoid {
    explicit ParanoidOrSkip(int wanted) : Paranoid(wanted) {
        if (level() != wanted) SKIP("perf_event_paranoid cannot be " << wanted);
    }
};

// Each identity that is possible here, in turn.
inline Identity any_identity() {
    static std::map<Identity, int> errors;
    const Identity identity = GENERATE(from_range(kIdentities));
    const auto known = errors.find(identity);
    const int error =
        known != errors.end() ? known->second : errors[identity] = identity_error(identity);
    if (error) SKIP("no " << name(identity) << " here: errno " << error);
    return identity;
}

}  // namespace metagroup::test
