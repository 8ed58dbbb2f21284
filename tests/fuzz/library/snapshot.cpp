// SPDX-License-Identifier: MIT
// Any bytes as a FRAMED read.
#include "snapshot_rules.hpp"

namespace metagroup::fuzz {

void snapshot(Bytes input) {
    decode(input);
}

}  // namespace metagroup::fuzz
