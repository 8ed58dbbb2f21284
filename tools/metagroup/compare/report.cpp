// SPDX-License-Identifier: MIT
#include "compare/report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace tool {
namespace {

double samples_per_second(std::size_t cpus, const Cost& cost) {
    return static_cast<double>(cpus) / (cost.microseconds / 1e6);
}

class Table final : public CompareReport {
  public:
    Table(Output& output, const Experiment& experiment) : output_(output) {
        output_.write(fmt::format(
            "\n {} on every CPU, {} sweeps of each way in turns, from CPU {}\n\n"
            "{:>6} {:>26}   {:>15}   {:>15}   {:>23}\n"
            "{:>6} {:>9} {:>9} {:>6}   {:>7} {:>7}   {:>7} {:>7}   {:>11} {:>11}\n",
            experiment.events, experiment.sweeps, experiment.reader, "", "us per sweep (median)",
            "system calls", "interrupts", "samples/s, at most", "CPUs", "per-fd", "module", "ratio",
            "per-fd", "module", "per-fd", "module", "per-fd", "module"));
    }

    void row(std::size_t cpus, const Comparison& comparison, bool same) override {
        const Cost& per_fd = comparison.per_fd;
        const Cost& module = comparison.module;
        output_.write(fmt::format(
            "{:>6} {:>9.2f} {:>9.2f} {:>6.2f}   {:>7} {:>7}   {:>7} {:>7}   {:>11.0f} "
            "{:>11.0f}{}\n",
            cpus, per_fd.microseconds, module.microseconds,
            module.microseconds / per_fd.microseconds, cell(per_fd.syscalls), cell(module.syscalls),
            cell(per_fd.interrupts), cell(module.interrupts), samples_per_second(cpus, per_fd),
            samples_per_second(cpus, module), same ? "" : "  COUNTS DIFFER"));
        if (!comparison.unknown.empty()) unknown_ = comparison.unknown;
    }

    void end(bool same) override {
        std::string text = same ? "\n Stopped, all counts are the same in both ways.\n\n"
                                : "\n THE COUNTS DIFFER: this is a defect, please report it.\n\n";
        if (!unknown_.empty()) text += fmt::format(" Not all could be counted: {}\n\n", unknown_);
        output_.write(text);
    }

  private:
    static std::string cell(const std::optional<double>& value) {
        return value ? fmt::format("{:.2f}", *value) : "-";
    }

    Output& output_;
    std::string unknown_;
};

class JsonLines final : public CompareReport {
  public:
    JsonLines(Output& output, Experiment experiment)
        : output_(output), experiment_(std::move(experiment)) {}

    void row(std::size_t cpus, const Comparison& comparison, bool same) override {
        const Json line{{"cpus", cpus},
                        {"events", experiment_.events},
                        {"sweeps", experiment_.sweeps},
                        {"per-fd", object(cpus, comparison.per_fd)},
                        {"module", object(cpus, comparison.module)},
                        {"same-counts", same}};
        output_.write(line.dump() + '\n');
    }

    void end(bool) override {}  // each row has said it

  private:
    using Json = nlohmann::ordered_json;

    static Json number(const std::optional<double>& value) {
        return value ? Json(*value) : Json(nullptr);
    }

    static Json object(std::size_t cpus, const Cost& cost) {
        return {{"sweep-us", cost.microseconds},
                {"system-calls", number(cost.syscalls)},
                {"interrupts", number(cost.interrupts)},
                {"samples-per-second", samples_per_second(cpus, cost)}};
    }

    Output& output_;
    Experiment experiment_;
};

}  // namespace

std::unique_ptr<CompareReport> make_compare_table(Output& output, const Experiment& experiment) {
    return std::make_unique<Table>(output, experiment);
}

std::unique_ptr<CompareReport> make_compare_json(Output& output, const Experiment& experiment) {
    return std::make_unique<JsonLines>(output, experiment);
}

}  // namespace tool
