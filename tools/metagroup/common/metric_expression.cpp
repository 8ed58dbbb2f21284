// SPDX-License-Identifier: MIT
// The grammar of tools/perf/util/expr.y, whose names no expression library can parse.
#include "common/metric_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <metagroup/cpu_list.hpp>
#include <stdexcept>

namespace tool {
namespace {

std::int64_t bits(double value) {
    constexpr double limit = 9e18;
    return std::fabs(value) < limit ? static_cast<std::int64_t>(value) : 0;
}

struct Operator {
    char sign;
    unsigned level;  // higher levels bind more tightly
    double (*function)(double, double);
};

constexpr auto kOperators = std::to_array<Operator>({
    {'|', 1, [](double a, double b) { return static_cast<double>(bits(a) | bits(b)); }},
    {'^', 2, [](double a, double b) { return static_cast<double>(bits(a) ^ bits(b)); }},
    {'&', 3, [](double a, double b) { return static_cast<double>(bits(a) & bits(b)); }},
    {'<', 4, [](double a, double b) { return a < b ? 1.0 : 0.0; }},
    {'>', 4, [](double a, double b) { return a > b ? 1.0 : 0.0; }},
    {'+', 5, [](double a, double b) { return a + b; }},
    {'-', 5, [](double a, double b) { return a - b; }},
    {'*', 6, [](double a, double b) { return a * b; }},
    {'/', 6, [](double a, double b) { return b == 0 ? NAN : a / b; }},
    {'%', 6, [](double a, double b) { return std::fmod(a, b); }},
});

struct Named {
    std::string_view name;
    double (*function)(double, double);
};

constexpr auto kFunctions = std::to_array<Named>({
    {"min", [](double a, double b) { return std::min(a, b); }},
    {"max", [](double a, double b) { return std::max(a, b); }},
    {"d_ratio", [](double a, double b) { return b == 0 ? 0 : a / b; }},
});

}  // namespace

class MetricParser {
  public:
    MetricParser(std::string_view text, const MetricExpression::Lookup& metric,
                 MetricExpression& result, unsigned depth = 0)
        : text_(text), metric_(metric), result_(result), depth_(depth) {}

    void parse() {
        choice();
        if (peek() != '\0') fail(fmt::format("unexpected \"{}\"", text_.substr(pos_)));
    }

  private:
    using Step = MetricExpression::Step;

    [[noreturn]] void fail(const std::string& reason) const {
        throw std::invalid_argument(
            fmt::format("metric expression \"{}\", column {}: {}", text_, pos_ + 1, reason));
    }

    // The next non-blank character; 0 at the end.
    char peek() {
        pos_ = std::min(text_.find_first_not_of(" \t\n", pos_), text_.size());
        return pos_ < text_.size() ? text_[pos_] : '\0';
    }
    void expect(char wanted) {
        if (peek() != wanted) fail(fmt::format("'{}' is missing", wanted));
        ++pos_;
    }
    bool takes(std::string_view word) {
        const std::size_t before = pos_;
        if (is_name(peek()) && name() == word) return true;
        pos_ = before;
        return false;
    }
    void emit(Step step) {
        constexpr std::size_t most = 10'000;
        result_.steps_.push_back(step);
        if (result_.steps_.size() > most) fail("too long, including the metrics that it uses");
    }
    void emit(double number) { emit({.kind = Step::Kind::number, .number = number}); }
    void emit(MetricExpression::Function function) {
        emit({.kind = Step::Kind::function, .function = function});
    }

    void enter() {
        constexpr unsigned deepest = 128;
        if (++nested_ > deepest) fail("too many parentheses");
    }

    // value if condition else other
    void choice() {
        enter();
        binary(0);
        if (takes("if")) {
            binary(0);
            if (!takes("else")) fail("\"if\" without \"else\"");
            choice();
            emit({.kind = Step::Kind::choice});
        }
        --nested_;
    }

    // Operators that bind more tightly than `level`.
    void binary(unsigned level) {
        operand();
        for (;;) {
            const auto* const found = std::ranges::find(kOperators, peek(), &Operator::sign);
            if (found == kOperators.end() || found->level <= level) return;
            ++pos_;
            binary(found->level);
            emit(found->function);
        }
    }

    void operand() {
        enter();
        const char c = peek();
        if (c == '-') {
            ++pos_;
            emit(0.0);
            operand();
            emit([](double a, double b) { return a - b; });
        } else if (c == '(') {
            ++pos_;
            choice();
            expect(')');
        } else if (c == '#') {
            ++pos_;
            emit(literal(name()));
        } else if (!number()) {
            named(name());
        }
        --nested_;
    }

    bool number() {
        double value = 0;
        const char* const last = text_.data() + text_.size();
        const auto [end, error] = std::from_chars(text_.data() + pos_, last, value);
        // A name may begin with a digit.
        if (error != std::errc{} || (end != last && is_name(*end))) return false;
        pos_ = static_cast<std::size_t>(end - text_.data());
        emit(value);
        return true;
    }

    static bool is_name(char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
               std::string_view("_.:@?\\").find(c) != std::string_view::npos;
    }

    // `@` stands for '/', and a backslash escapes operators.
    std::string name() {
        peek();
        std::string name;
        for (; pos_ < text_.size() && is_name(text_[pos_]); ++pos_) {
            if (text_[pos_] == '\\' && ++pos_ == text_.size()) break;
            name += text_[pos_] == '@' ? '/' : text_[pos_];
        }
        if (name.empty()) fail("an event, a metric or a number is missing");
        return name;
    }

    void named(const std::string& name) {
        constexpr unsigned deepest = 16;
        const auto* const function = std::ranges::find(kFunctions, name, &Named::name);
        if (function != kFunctions.end()) {
            expect('(');
            choice();
            expect(',');
            choice();
            expect(')');
            return emit(function->function);
        }
        if (name == "source_count") {
            expect('(');
            variable({this->name(), true});
            return expect(')');
        }
        const std::string_view metric = metric_ ? metric_(name) : std::string_view{};
        if (metric.empty()) return variable({name, false});
        if (depth_ == deepest) fail(fmt::format("metric \"{}\" contains itself", name));
        MetricParser(metric, metric_, result_, depth_ + 1).parse();
    }

    void variable(MetricExpression::Variable wanted) {
        auto& known = result_.variables_;
        const auto found = std::ranges::find(known, wanted);
        emit({.kind = Step::Kind::variable,
              .variable = static_cast<std::size_t>(found - known.begin())});
        if (found == known.end()) known.push_back(std::move(wanted));
    }

    // A property of the machine.
    double literal(std::string_view name) const {
        if (name == "num_cpus_online")
            return static_cast<double>(metagroup::CpuList::online().size());
        if (name == "num_cpus") return static_cast<double>(metagroup::CpuList::possible().size());
        if (name == "smt_on")
            return std::ifstream("/sys/devices/system/cpu/smt/active").get() == '1' ? 1 : 0;
        fail(fmt::format("\"#{}\" is unknown", name));
    }

    std::string_view text_;
    std::size_t pos_ = 0;
    const MetricExpression::Lookup& metric_;
    MetricExpression& result_;
    unsigned depth_;
    unsigned nested_ = 0;
};

MetricExpression::MetricExpression(std::string_view text, const Lookup& metric) {
    MetricParser(text, metric, *this).parse();
}

std::optional<double> MetricExpression::evaluate(std::span<const double> values) const {
    std::vector<double> stack;
    stack.reserve(steps_.size());
    const auto pop = [&] {
        const double top = stack.back();
        stack.pop_back();
        return top;
    };
    for (const Step& step : steps_) {
        switch (step.kind) {
            case Step::Kind::number:
                stack.push_back(step.number);
                break;
            case Step::Kind::variable:
                stack.push_back(values[step.variable]);
                break;
            case Step::Kind::function: {
                const double right = pop();
                stack.back() = step.function(stack.back(), right);
                break;
            }
            case Step::Kind::choice: {
                const double other = pop();
                if (pop() == 0) stack.back() = other;
                break;
            }
        }
    }
    if (!std::isfinite(stack.back())) return std::nullopt;
    return stack.back();
}

}  // namespace tool
