// SPDX-License-Identifier: MIT
// Descriptors that all threads share. A number is either closed or a file of a fixed kind, so that
// the result of a call is known although other threads open and close it.
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

// Opens files of other kinds. Once, before the threads.
void open_other_files();

int other_pipe();  // the end to write to
int other_file();
int other_epoll();

}  // namespace fuzz
