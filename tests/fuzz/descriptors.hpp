// SPDX-License-Identifier: MIT
// Descriptors that all threads share. A number is either closed or of its own kind, whoever opens
// and closes it: what a call on it may give is known although others work on it.
#pragma once

#include "support/random.hpp"

namespace fuzz {

using metagroup::test::Random;

enum class Access { read_write, read_only, write_only, path };

struct Handle {
    int number;
    Access access;
    bool readable() const { return access == Access::read_write || access == Access::read_only; }
    // A call of the module: O_PATH files have none.
    bool callable() const { return access != Access::path; }
};

Handle any_handle(Random& random);

// For ATTACH: most are perf events.
int any_descriptor(Random& random);

// Opens what is of other kinds. Once, before the threads.
void open_strangers();

int stranger_pipe();  // the end to write to
int stranger_file();
int stranger_epoll();

}  // namespace fuzz
