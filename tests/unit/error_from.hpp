// SPDX-License-Identifier: MIT
// The Error that an action throws, to check its parts.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <metagroup/error.hpp>

namespace metagroup::test {

template <typename Action>
Error error_from(Action action) {
    try {
        action();
    } catch (const Error& error) {
        return error;
    }
    FAIL("no error");
    throw;
}

}  // namespace metagroup::test
