// SPDX-License-Identifier: MIT
// Any text as a list of events.
#include "event_rules.hpp"
#include "support/fake_system.hpp"
#include "targets.hpp"

namespace metagroup::fuzz {

void event_list(Bytes input) {
    static const test::FakeSystem system;
    read_events(as_text(input), system.paths);
}

}  // namespace metagroup::fuzz
