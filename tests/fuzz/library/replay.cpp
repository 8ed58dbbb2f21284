// SPDX-License-Identifier: MIT
// usage: metagroup_fuzz_replay CORPUS
//
// Gives the inputs in CORPUS/TARGET/ to that target, for all targets. Needs no fuzzer.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "targets.hpp"

namespace {

namespace fs = std::filesystem;
namespace fuzz = metagroup::fuzz;

// A block of exactly that size, so that a sanitizer sees the first byte beyond it.
std::vector<char> contents(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    bytes.shrink_to_fit();
    return bytes;
}

int replay(const fuzz::Target& target, const fs::path& corpus) {
    int inputs = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(corpus / target.name)) {
        // Printed before: a broken rule ends the program.
        std::printf("%s\n", entry.path().c_str());
        std::fflush(stdout);
        const std::vector<char> bytes = contents(entry.path());
        target.run(std::as_bytes(std::span(bytes)));
        ++inputs;
    }
    return inputs;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return 2;
    }
    int all = 0;
    for (const fuzz::Target& target : fuzz::targets()) {
        const int inputs = replay(target, argv[1]);
        if (inputs == 0) {
            std::fprintf(stderr, "no inputs for target %s in %s\n", target.name, argv[1]);
            return 1;
        }
        all += inputs;
    }
    std::printf("%d inputs hold all rules\n", all);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
}
