// SPDX-License-Identifier: MIT
#include <fcntl.h>

#include <catch2/catch_test_macros.hpp>
#include <metagroup/detail/unique_fd.hpp>
#include <type_traits>
#include <utility>

using metagroup::detail::UniqueFd;

namespace {
UniqueFd open_null() {
    return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}
bool is_open(int fd) {
    return ::fcntl(fd, F_GETFD) != -1;
}
}  // namespace

TEST_CASE("a descriptor is closed at the end of its owner") {
    int number = -1;
    {
        const UniqueFd fd = open_null();
        number = fd.get();
        REQUIRE(is_open(number));
    }
    CHECK_FALSE(is_open(number));
}

TEST_CASE("a moved descriptor has one owner") {
    STATIC_CHECK_FALSE(std::is_copy_constructible_v<UniqueFd>);
    UniqueFd first = open_null();
    const int number = first.get();
    UniqueFd second = std::move(first);
    CHECK(first.get() == -1);  // NOLINT: moved from, what is tested
    CHECK(second.get() == number);
    UniqueFd third = open_null();
    const int replaced = third.get();
    third = std::move(second);
    CHECK(third.get() == number);
    CHECK_FALSE(is_open(replaced));
}
