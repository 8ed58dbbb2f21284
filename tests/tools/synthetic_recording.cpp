// SPDX-License-Identifier: MIT
// usage: metagroup_synthetic_recording FILE [CPUS [DEADLINES]]
#include <cstdlib>

#include "support/synthetic_stream.hpp"

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const metagroup::test::SyntheticStream stream{.cpus = argc > 2 ? std::atoi(argv[2]) : 2};
    stream.write_file(argv[1], argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 100);
}
