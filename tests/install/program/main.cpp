// SPDX-License-Identifier: MIT
// The least that needs headers, library and the kernel's interface of an installed tree.
#include <cstdio>
#include <metagroup/metagroup.hpp>

int main() {
    std::puts(metagroup::parse_events("cpu-clock")[0].events[0].name.c_str());
}
