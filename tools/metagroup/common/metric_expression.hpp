// SPDX-License-Identifier: MIT
// An expression in the syntax of perf's metrics: 1e-9 * cycles / duration_time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

class MetricExpression {
  public:
    // The expression of another metric that a name stands for. Empty if the name is an event.
    using Lookup = std::function<std::string_view(std::string_view name)>;

    // The source of a value.
    struct Variable {
        std::string event;            // for parse_events(); or duration_time, in seconds
        bool number_of_cpus = false;  // source_count(event): CPUs that counted it

        bool operator==(const Variable&) const = default;
    };

    // \throws std::invalid_argument naming the position and the reason.
    explicit MetricExpression(std::string_view text, const Lookup& metric = {});

    // In order of first use in the expression.
    const std::vector<Variable>& variables() const { return variables_; }

    // Takes the values of the variables. No value if the result is not a number, for example after
    // a division by 0.
    std::optional<double> evaluate(std::span<const double> values) const;

  private:
    friend class MetricParser;
    using Function = double (*)(double, double);
    // In postfix order: a number, a variable, a function of the two preceding values, or a choice
    // with the operands value, condition, alternative.
    struct Step {
        enum class Kind { number, variable, function, choice };
        Kind kind = Kind::number;
        double number = 0;
        std::size_t variable = 0;
        Function function = nullptr;
    };

    std::vector<Variable> variables_;
    std::vector<Step> steps_;
};

}  // namespace tool
