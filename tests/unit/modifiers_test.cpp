// SPDX-License-Identifier: MIT
#include <catch2/catch_test_macros.hpp>

#include "event_parser.hpp"

using metagroup::detail::apply_modifiers;
using metagroup::detail::looks_like_modifiers;
using metagroup::detail::parse_modifiers;
using metagroup::detail::SpecError;

namespace {
perf_event_attr with(const char* letters, perf_event_attr attr = {}) {
    apply_modifiers(parse_modifiers(letters, 0), attr);
    return attr;
}
}  // namespace

TEST_CASE("a level alone excludes the others") {
    const auto user = with("u");
    CHECK(user.exclude_user == 0);
    CHECK(user.exclude_kernel == 1);
    CHECK(user.exclude_hv == 1);
    const auto both = with("uk");
    CHECK(both.exclude_user == 0);
    CHECK(both.exclude_kernel == 0);
    CHECK(both.exclude_hv == 1);
    const auto hypervisor = with("h");
    CHECK(hypervisor.exclude_hv == 0);
    CHECK(hypervisor.exclude_user == 1);
}

TEST_CASE("levels of the group add to those of the event") {
    const auto attr = with("k", with("u"));
    CHECK(attr.exclude_user == 0);
    CHECK(attr.exclude_kernel == 0);
    CHECK(attr.exclude_hv == 1);
}

TEST_CASE("guest and host exclude each other unless both are given") {
    CHECK(with("G").exclude_host == 1);
    CHECK(with("G").exclude_guest == 0);
    CHECK(with("H").exclude_guest == 1);
    CHECK(with("GH").exclude_guest == 0);
    CHECK(with("GH").exclude_host == 0);
}

TEST_CASE("each p makes an event more precise") {
    CHECK(with("p").precise_ip == 1);
    CHECK(with("ppp").precise_ip == 3);
    CHECK(with("p").exclude_guest == 1);
    CHECK_THROWS_AS(with("pppp"), SpecError);
}

TEST_CASE("pinned, exclusive and not-idle are bits of their own") {
    CHECK(with("D").pinned == 1);
    CHECK(with("e").exclusive == 1);
    CHECK(with("I").exclude_idle == 1);
    CHECK(with("D").exclude_kernel == 0);
}

TEST_CASE("a wrong modifier is refused at its place") {
    try {
        parse_modifiers("ukz", 10);
        FAIL("not refused");
    } catch (const SpecError& error) {
        CHECK(error.offset() == 12);
        CHECK(std::string(error.what()).find("'z'") != std::string::npos);
    }
    CHECK_THROWS_AS(parse_modifiers("uu", 0), SpecError);
    CHECK_THROWS_AS(parse_modifiers("", 0), SpecError);
}

TEST_CASE("only known letters look like modifiers") {
    CHECK(looks_like_modifiers("ukhGHDepI"));
    CHECK_FALSE(looks_like_modifiers(""));
    CHECK_FALSE(looks_like_modifiers("u=1"));
    CHECK_FALSE(looks_like_modifiers("sched_switch"));
}
