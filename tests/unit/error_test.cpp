// SPDX-License-Identifier: MIT
#include "metagroup/error.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <string>
#include <system_error>

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using metagroup::Cause;
using metagroup::Error;

TEST_CASE("an error has cause, errno and parts") {
    const Error error(Cause::pmu_busy, EBUSY, {"cannot open it", "another has it", "end that"});
    CHECK(error.cause() == Cause::pmu_busy);
    CHECK(error.code() == std::errc::device_or_resource_busy);
    CHECK(error.failed() == "cannot open it");
    CHECK(error.reason() == "another has it");
    CHECK(error.remedy() == "end that");
    CHECK(error.what() == std::string("cannot open it: another has it; end that"));
}

TEST_CASE("an error without a reason has that of its errno") {
    const Error error(Cause::other, EIO, {.failed = "cannot read it"});
    CHECK(error.reason() == std::generic_category().message(EIO));
    CHECK(error.what() == "cannot read it: " + error.reason());
}

TEST_CASE("an error that is copied as a system error keeps its text") {
    const std::system_error error = Error(Cause::other, EIO, {"a", "b", "c"});
    CHECK_THAT(error.what(), StartsWith("a: b; c"));
    CHECK(error.code().value() == EIO);
}

TEST_CASE("the parts of a temporary error are copies") {
    const std::string& reason = Error(Cause::other, EIO, {"a", "b", "c"}).reason();
    CHECK(reason == "b");
}
