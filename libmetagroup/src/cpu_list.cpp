// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>

#include "diagnostics.hpp"
#include "format.hpp"
#include "system.hpp"

namespace metagroup {
namespace {

// Far above any NR_CPUS; keeps a typo from exhausting memory.
constexpr int max_cpu = 65535;

CpuList from_sysfs(const std::string& path) {
    const auto text = detail::read_file(path);
    if (!text)
        detail::throw_error(detail::Call::read_sysfs, ENOENT,
                            detail::format("cannot read {}", path));
    return CpuList::parse(*text);
}

// One pass over a text. Every error names the text and the position.
class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    std::vector<int> list() {
        if (text_.empty())
            fail(0, "the list is empty", "write numbers and ranges such as \"0-3,8\", or \"all\"");
        for (;;) {
            range();
            if (pos_ == text_.size()) return std::move(cpus_);
            if (text_[pos_] != ',')
                fail(pos_, detail::format("unexpected \"{}\"", text_[pos_]),
                     "write ',' or '-' between numbers");
            ++pos_;
        }
    }

  private:
    [[noreturn]] void fail(std::size_t at, std::string reason, std::string remedy) const {
        detail::throw_parse_error("CPU list", text_, at,
                                  {Cause::syntax, std::move(reason), std::move(remedy)});
    }

    int number() {
        const char* first = text_.data() + pos_;
        const char* last = text_.data() + text_.size();
        int value = 0;
        const auto [end, error] = std::from_chars(first, last, value);
        // from_chars() accepts a minus sign.
        if (error == std::errc::invalid_argument || *first == '-') {
            const auto rest = text_.substr(pos_);
            const auto word = rest.substr(0, rest.find(','));
            fail(pos_,
                 word.empty() ? std::string("a CPU number is missing here")
                              : detail::format("\"{}\" is not a CPU number", word),
                 "write \"0-3,8\", \"all\", \"online\" or \"possible\"");
        }
        if (error == std::errc::result_out_of_range || value > max_cpu)
            fail(pos_,
                 detail::format("CPU {} is too large",
                                std::string_view(first, static_cast<std::size_t>(end - first))),
                 detail::format("write numbers up to {}", max_cpu));
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
        if (high < low)
            fail(start, detail::format("range {}-{} is descending", low, high),
                 detail::format("write {}-{}", high, low));
        for (int cpu = low; cpu <= high; ++cpu) {
            const auto place = std::lower_bound(cpus_.begin(), cpus_.end(), cpu);
            if (place != cpus_.end() && *place == cpu)
                fail(start, detail::format("duplicate CPU {}", cpu), "remove one");
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
    if (!cpus_.empty() && cpus_.front() < 0)
        throw std::invalid_argument(detail::format("CPU number {} is negative", cpus_.front()));
    const auto duplicate = std::adjacent_find(cpus_.begin(), cpus_.end());
    if (duplicate != cpus_.end())
        throw std::invalid_argument(detail::format("duplicate CPU {}: remove one", *duplicate));
    constexpr std::size_t bits = 64;
    if (!cpus_.empty()) words_.resize(static_cast<std::size_t>(cpus_.back()) / bits + 1);
    for (const int cpu : cpus_) {
        const auto bit = static_cast<std::size_t>(cpu);
        words_[bit / bits] |= std::uint64_t{1} << bit % bits;
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

std::span<const std::uint64_t> CpuList::mask() const& noexcept {
    static constexpr std::array<std::uint64_t, 1> none{};
    if (words_.empty()) return none;
    return words_;
}

CpuList CpuList::intersect(const CpuList& other) const {
    std::vector<int> both;
    std::set_intersection(begin(), end(), other.begin(), other.end(), std::back_inserter(both));
    return CpuList(std::move(both));
}

std::string CpuList::to_string() const {
    std::string text;
    for (std::size_t i = 0; i < cpus_.size();) {
        std::size_t last = i;
        while (last + 1 < cpus_.size() && cpus_[last + 1] == cpus_[last] + 1)
            ++last;
        if (!text.empty()) text += ',';
        text += last == i ? detail::format("{}", cpus_[i])
                          : detail::format("{}-{}", cpus_[i], cpus_[last]);
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
