// SPDX-License-Identifier: MIT

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <metagroup/cpu_list.hpp>
#include <stdexcept>
#include <utility>

#include "cpu_list_parser.hpp"
#include "error.hpp"
#include "formatted.hpp"

namespace metagroup {
namespace {

constexpr std::string_view kind = "CPU list";
// Far above any kernel's NR_CPUS; keeps a typing error from filling the memory.
constexpr int max_cpu = 65535;

CpuList from_sysfs(const std::string& path) {
    const auto text = detail::read_file(path);
    if (!text) {
        detail::throw_errno(ENOENT,
                            detail::formatted("cannot read {}: is sysfs mounted on /sys?", path));
    }
    return CpuList::parse(*text);
}

/// One pass over a text; every error names the text and the place.
class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    std::vector<int> list() {
        if (text_.empty())
            fail(0, "no CPU: write numbers and ranges such as \"0-3,8\", or \"all\"");
        for (;;) {
            range();
            if (pos_ == text_.size()) return std::move(cpus_);
            if (text_[pos_] != ',') {
                fail(pos_,
                     detail::formatted("unexpected \"{}\": only ',' and '-' stand between numbers",
                                       text_[pos_]));
            }
            ++pos_;
        }
    }

  private:
    [[noreturn]] void fail(std::size_t at, const std::string& message) const {
        detail::throw_parse_error(kind, text_, at, message);
    }

    int number() {
        const char* first = text_.data() + pos_;
        const char* last = text_.data() + text_.size();
        int value = 0;
        const auto [end, error] = std::from_chars(first, last, value);
        // from_chars() takes a minus sign, a CPU number has none.
        if (error == std::errc::invalid_argument || *first == '-') {
            const auto rest = text_.substr(pos_);
            const auto word = rest.substr(0, rest.find(','));
            fail(pos_, word.empty()
                           ? std::string("a CPU number is missing here")
                           : detail::formatted("\"{}\" is not a CPU number: write \"0-3,8\", "
                                               "\"all\", \"online\" or \"possible\"",
                                               word));
        }
        if (error == std::errc::result_out_of_range || value > max_cpu) {
            fail(pos_,
                 detail::formatted("CPU {} is too large: the largest is {}",
                                   std::string_view(first, static_cast<std::size_t>(end - first)),
                                   max_cpu));
        }
        pos_ += static_cast<std::size_t>(end - first);
        return value;
    }

    void range() {
        const std::size_t start = pos_;
        const int low = number();
        int high = low;
        if (pos_ < text_.size() && text_[pos_] == '-') {
            ++pos_;
            high = number();
        }
        if (high < low) {
            fail(start, detail::formatted("range {}-{} runs backwards: write {}-{}", low, high,
                                          high, low));
        }
        for (int cpu = low; cpu <= high; ++cpu) {
            const auto place = std::lower_bound(cpus_.begin(), cpus_.end(), cpu);
            if (place != cpus_.end() && *place == cpu) {
                fail(start, detail::formatted("CPU {} stands twice: remove one", cpu));
            }
            cpus_.insert(place, cpu);
        }
    }

    std::string_view text_;
    std::size_t pos_ = 0;
    std::vector<int> cpus_;
};

}  // namespace

CpuList::CpuList(std::vector<int> cpus) : cpus_(std::move(cpus)) {
    std::sort(cpus_.begin(), cpus_.end());
    if (!cpus_.empty() && cpus_.front() < 0) {
        throw std::invalid_argument(detail::formatted("CPU number {} is negative", cpus_.front()));
    }
    const auto twice = std::adjacent_find(cpus_.begin(), cpus_.end());
    if (twice != cpus_.end()) {
        throw std::invalid_argument(detail::formatted("CPU {} stands twice: remove one", *twice));
    }
}

CpuList CpuList::parse(std::string_view text) {
    return detail::parse_cpu_list(text, {});
}
CpuList CpuList::online() {
    return detail::online_cpus({});
}
CpuList CpuList::possible() {
    return detail::possible_cpus({});
}

bool CpuList::contains(int cpu) const noexcept {
    return std::binary_search(cpus_.begin(), cpus_.end(), cpu);
}

std::vector<std::uint64_t> CpuList::mask() const {
    constexpr std::size_t bits = 64;
    std::vector<std::uint64_t> words;
    if (!empty()) words.resize(static_cast<std::size_t>(cpus_.back()) / bits + 1);
    for (const int cpu : cpus_) {
        const auto bit = static_cast<std::size_t>(cpu);
        words[bit / bits] |= std::uint64_t{1} << bit % bits;
    }
    return words;
}

CpuList CpuList::intersect(const CpuList& other) const {
    CpuList both;
    std::set_intersection(begin(), end(), other.begin(), other.end(),
                          std::back_inserter(both.cpus_));
    return both;
}

std::string CpuList::to_string() const {
    std::string text;
    for (std::size_t i = 0; i < cpus_.size();) {
        std::size_t last = i;
        while (last + 1 < cpus_.size() && cpus_[last + 1] == cpus_[last] + 1)
            ++last;
        if (!text.empty()) text += ',';
        text += last == i ? detail::formatted("{}", cpus_[i])
                          : detail::formatted("{}-{}", cpus_[i], cpus_[last]);
        i = last + 1;
    }
    return text;
}

namespace detail {

CpuList parse_cpu_list(std::string_view text, const SystemPaths& paths) {
    if (text == "all" || text == "online") return online_cpus(paths);
    if (text == "possible") return possible_cpus(paths);
    return CpuList(Parser(text).list());
}

CpuList online_cpus(const SystemPaths& paths) {
    return from_sysfs(paths.cpus + "/online");
}
CpuList possible_cpus(const SystemPaths& paths) {
    return from_sysfs(paths.cpus + "/possible");
}

}  // namespace detail
}  // namespace metagroup
