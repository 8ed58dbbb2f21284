// SPDX-License-Identifier: MIT
#include "duration_option.hpp"

#include <CLI/CLI.hpp>
#include <map>

namespace tool {

CLI::Option* add_duration(CLI::App& app, const std::string& name,
                          std::optional<std::chrono::nanoseconds>& duration,
                          std::chrono::nanoseconds bare, std::chrono::nanoseconds least,
                          const std::string& help) {
    using std::chrono::nanoseconds;
    constexpr double kLongest = 1e15;  // ns: eleven days
    const auto unit = static_cast<double>(bare.count());
    std::map<std::string, double> units{
        {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}};
    for (auto& [word, length] : units)
        length /= unit;
    const auto set = [&duration, unit](double number) {
        duration = nanoseconds(static_cast<nanoseconds::rep>(number * unit));
    };
    return app.add_option_function<double>(name, set, help)
        ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE, "TIME"))
        ->check(CLI::Range(static_cast<double>(least.count()) / unit, kLongest / unit));
}

}  // namespace tool
