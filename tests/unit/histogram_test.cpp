// SPDX-License-Identifier: MIT
#include <catch2/catch_all.hpp>
#include <cstdint>
#include <metagroup/histogram.hpp>

using metagroup::Histogram;

TEST_CASE("A histogram without values is all zero") {
    const Histogram histogram;
    REQUIRE(histogram.quantile(0.5) == 0);
    REQUIRE(histogram.max() == 0);
}

TEST_CASE("Small values are kept exactly") {
    Histogram histogram;
    for (std::uint64_t value = 1; value <= 31; ++value)
        histogram.add(value);
    REQUIRE(histogram.quantile(0.5) == 16);
    REQUIRE(histogram.quantile(1) == 31);
}

TEST_CASE("Quantiles of large values are off by less than one part in 64") {
    Histogram histogram;
    for (std::uint64_t value = 1; value <= 100'000; ++value)
        histogram.add(value * 1000);
    for (const double part : {0.01, 0.5, 0.9, 0.99}) {
        CAPTURE(part);
        REQUIRE(static_cast<double>(histogram.quantile(part)) ==
                Catch::Approx(part * 1e8).epsilon(1.0 / 64));
    }
}

TEST_CASE("The largest number fits into a histogram") {
    Histogram histogram;
    histogram.add(UINT64_MAX);
    REQUIRE(histogram.quantile(0.5) == UINT64_MAX);
}

TEST_CASE("Quantiles of equal values are too low as often as too high") {
    Histogram histogram;
    for (int i = 0; i < 10; ++i)
        histogram.add(10'000'000);
    histogram.add(11'000'000);
    CHECK(static_cast<double>(histogram.quantile(0.5)) == Catch::Approx(1e7).epsilon(1.0 / 64));
    CHECK(histogram.quantile(1) == 11'000'000);
}
