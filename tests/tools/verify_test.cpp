// SPDX-License-Identifier: MIT
// The benchmark detects methods that deliver wrong counts.
#include "verify.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>
#include <stdexcept>
#include <utility>

#include "unit/helpers.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

using Counts = std::vector<std::uint64_t>;

// Delivers the true counts as changed by `twist`.
class FakeMethod : public bench::Method {
  public:
    explicit FakeMethod(std::function<Counts(const Counts&)> twist) : twist_(std::move(twist)) {
        groups_.enable();
    }

    measure::CpuGroups* groups() override { return &groups_; }
    void sweep() override { counts_ = twist_(groups_.counts()); }
    Counts counts() const override { return counts_; }

  private:
    measure::CpuGroups groups_{metagroup::parse_events("{cpu-clock,page-faults}"),
                               metagroup::CpuList({metagroup::test::first_cpu()})};
    std::function<Counts(const Counts&)> twist_;
    Counts counts_;
};

void verify(const std::function<Counts(const Counts&)>& twist) {
    FakeMethod method(twist);
    bench::verify_counts(method);
}

}  // namespace

TEST_CASE("a method that delivers true counts passes") {
    metagroup::test::need_software_events();
    CHECK_NOTHROW(verify([](const Counts& counts) { return counts; }));
}

TEST_CASE("a method that is late once is verified again") {
    metagroup::test::need_software_events();
    bool late = true;
    CHECK_NOTHROW(verify([&](const Counts& counts) {
        return std::exchange(late, false) ? Counts{1, counts[1]} : counts;
    }));
}

TEST_CASE("a method that delivers old, wrong, too few or no counts fails") {
    metagroup::test::need_software_events();
    Counts old;
    CHECK_THROWS_MATCHES(verify([&](const Counts& counts) {
                             if (old.empty()) old = {1, counts[1]};
                             return old;
                         }),
                         std::runtime_error, MessageMatches(ContainsSubstring("not between")));
    CHECK_THROWS_MATCHES(verify([](const Counts& counts) {
                             return Counts{counts[0] + 1'000'000'000'000, counts[1]};
                         }),
                         std::runtime_error, MessageMatches(ContainsSubstring("not between")));
    CHECK_THROWS_MATCHES(verify([](const Counts& counts) { return Counts{counts[0]}; }),
                         std::runtime_error, MessageMatches(ContainsSubstring("1 counts of 2")));
    CHECK_THROWS_MATCHES(verify([](const Counts&) { return Counts{}; }), std::runtime_error,
                         MessageMatches(ContainsSubstring("0 counts of 2")));
}
