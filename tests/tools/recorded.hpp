// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "support/synthetic_stream.hpp"
#include "support/temp_tree.hpp"

// A recording with known counts.
struct Recorded {
    explicit Recorded(std::uint64_t deadlines = 1000) { stream.write_file(path, deadlines); }

    metagroup::test::TempTree tree;
    std::string path = tree.path("recording");
    metagroup::test::SyntheticStream stream{.cpus = 3};
};
