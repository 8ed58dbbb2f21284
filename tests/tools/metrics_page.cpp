// SPDX-License-Identifier: MIT
#include "metrics_page.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

constexpr std::string_view kTotal = "_total";

bool is_name(std::string_view text, bool of_label) {
    const auto is_letter = [of_label](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
               (c == ':' && !of_label);
    };
    return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [&](char c) {
        return is_letter(c) || (c >= '0' && c <= '9');
    });
}

std::optional<double> number_of(std::string_view text) {
    if (text == "+Inf") return std::numeric_limits<double>::infinity();
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
        return std::nullopt;
    return number;
}

// A family at a time: its texts, then its samples.
class Reader {
  public:
    explicit Reader(tool::Format format) : open_metrics_(format == tool::Format::open_metrics) {}

    MetricsPage read(const std::string& text) {
        demand(text.ends_with('\n'), "the last line ends");
        std::istringstream lines(text);
        while (std::getline(lines, line_)) {
            demand(!ended_, "nothing follows # EOF");
            if (line_ == "# EOF")
                ended_ = true;
            else if (line_.starts_with("# HELP "))
                begin_family();
            else if (line_.starts_with("# TYPE "))
                take_type();
            else
                take_sample();
        }
        end_family();
        demand(ended_ == open_metrics_, "# EOF ends OpenMetrics, and no other text");
        return std::move(samples_);
    }

  private:
    void demand(bool holds, const char* rule) const {
        if (!holds) throw std::runtime_error(line_ + ": not so: " + rule);
    }

    // \return what follows the name.
    std::string begin_text(std::string_view& name) const {
        const std::string_view rest = std::string_view(line_).substr(sizeof "# HELP " - 1);
        const std::size_t space = rest.find(' ');
        demand(space != std::string_view::npos, "a name and a text");
        name = rest.substr(0, space);
        demand(is_name(name, false), "the name of a metric");
        return std::string(rest.substr(space + 1));
    }

    void begin_family() {
        end_family();
        std::string_view name;
        demand(!begin_text(name).empty(), "a family has a text");
        family_ = name;
        demand(families_.insert(family_).second, "a family is there once, in one place");
        type_.clear();
    }

    void take_type() {
        std::string_view name;
        type_ = begin_text(name);
        demand(name == family_ && !has_samples_, "TYPE follows HELP");
        demand(type_ == "counter" || type_ == "gauge" || type_ == "histogram", "a known type");
        demand(type_ != "counter" || family_.ends_with(kTotal) != open_metrics_,
               "counters end in _total: in OpenMetrics their samples only");
    }

    void take_sample() {
        demand(!type_.empty(), "a sample follows HELP and TYPE");
        has_samples_ = true;
        std::string_view rest = line_;
        const std::string name(rest.substr(0, rest.find_first_of("{ ")));
        rest.remove_prefix(name.size());
        std::map<std::string, std::string> labels;
        if (rest.starts_with('{')) labels = take_labels(rest);
        demand(rest.starts_with(' '), "one space before the value");
        const std::string value(rest.substr(1));
        const std::optional<double> number = number_of(value);
        demand(number && *number != std::numeric_limits<double>::infinity(), "a number");
        demand(type_ == "gauge" || *number >= 0, "counts are not negative");
        if (type_ == "histogram")
            take_part(name, labels, *number);
        else
            demand(name == family_ + std::string(type_ == "counter" && open_metrics_ ? kTotal : ""),
                   "a sample has the name of its family");
        labels.erase("le");
        std::vector<std::string> names;
        for (const auto& [label, text] : labels)
            names.push_back(label);
        demand(!names_ || *names_ == names, "all samples of a family have the same labels");
        names_ = std::move(names);
        demand(seen_.insert({name, le_, labels}).second, "a sample is there once");
        samples_[line_.substr(0, line_.size() - value.size() - 1)] = {type_, value};
    }

    std::map<std::string, std::string> take_labels(std::string_view& rest) const {
        std::map<std::string, std::string> labels;
        do {
            rest.remove_prefix(1);
            const std::size_t equals = rest.find("=\"");
            demand(equals != std::string_view::npos, "a label has a value in quotes");
            const std::string name(rest.substr(0, equals));
            demand(is_name(name, true) && !name.starts_with("__"), "the name of a label");
            rest.remove_prefix(equals + 2);
            std::string value;
            while (!rest.empty() && rest.front() != '"') {
                if (rest.front() == '\\') {
                    demand(rest.size() > 1 && (rest[1] == '\\' || rest[1] == '"' || rest[1] == 'n'),
                           "a known escape");
                    rest.remove_prefix(1);
                }
                value += rest.front();
                rest.remove_prefix(1);
            }
            demand(!rest.empty(), "quotes end");
            rest.remove_prefix(1);
            demand(labels.emplace(name, value).second, "a label is there once");
        } while (rest.starts_with(','));
        demand(rest.starts_with('}'), "labels end");
        rest.remove_prefix(1);
        return labels;
    }

    // Buckets, sum and count.
    void take_part(const std::string& name, const std::map<std::string, std::string>& labels,
                   double number) {
        le_.clear();
        if (name == family_ + "_bucket") {
            demand(labels.contains("le"), "a bucket has a limit");
            le_ = labels.at("le");
            const std::optional<double> limit = number_of(le_);
            demand(limit && (!limit_ || *limit > *limit_), "limits rise");
            demand(number >= in_buckets_, "counts of buckets rise");
            limit_ = limit;
            in_buckets_ = number;
        } else if (name == family_ + "_count") {
            demand(limit_ == std::numeric_limits<double>::infinity() && number == in_buckets_,
                   "the last bucket has no limit, and all");
            has_count_ = true;
        } else {
            demand(name == family_ + "_sum", "a part of a histogram");
            has_sum_ = true;
        }
    }

    void end_family() {
        demand(type_ != "histogram" || (has_count_ && has_sum_), "a histogram has sum and count");
        has_samples_ = has_count_ = has_sum_ = false;
        limit_.reset();
        names_.reset();
        in_buckets_ = 0;
        le_.clear();
    }

    bool open_metrics_;
    bool ended_ = false;
    std::string line_;
    // The family's texts.
    std::string family_, type_;
    bool has_samples_ = false, has_count_ = false, has_sum_ = false;
    std::optional<std::vector<std::string>> names_;  // of labels
    std::optional<double> limit_;
    std::string le_;
    double in_buckets_ = 0;
    // Of all.
    std::set<std::string> families_;
    std::set<std::tuple<std::string, std::string, std::map<std::string, std::string>>> seen_;
    MetricsPage samples_;
};

}  // namespace

MetricsPage read_page(const std::string& text, tool::Format format) {
    return Reader(format).read(text);
}
