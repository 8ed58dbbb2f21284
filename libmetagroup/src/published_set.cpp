// SPDX-License-Identifier: MIT
#include "published_set.hpp"

#include <charconv>
#include <utility>

#include "format.hpp"

namespace metagroup {

std::vector<PublishedSet> published_sets() {
    return detail::published_sets({});
}
std::optional<PublishedSet> published_set(std::string_view name) {
    return detail::published_set(name, {});
}

namespace detail {
namespace {

template <typename Number>
Number number(const std::optional<std::string>& text, int base = 10) {
    Number value = 0;
    if (text) std::from_chars(text->data(), text->data() + text->size(), value, base);
    return value;
}

}  // namespace

std::optional<PublishedSet> published_set(std::string_view name, const SystemPaths& paths) {
    if (!is_file_name(name)) return std::nullopt;
    const std::string directory = detail::format("{}/{}/", paths.sets, name);
    const auto file = [&](const char* field) { return read_file(directory + field); };
    auto state = file("state");
    if (!state) return std::nullopt;
    PublishedSet set;
    set.name = name;
    set.id = number<std::uint64_t>(file("id"));
    set.state = std::move(*state);
    set.uid = number<std::uint32_t>(file("uid"));
    set.gid = number<std::uint32_t>(file("gid"));
    set.mode = number<unsigned>(file("mode"), 8);
    const auto cpus = file("cpus");
    if (cpus && !cpus->empty()) set.cpus = parse_cpu_list(*cpus, paths);
    set.events = number<std::uint64_t>(file("events"));
    set.users = number<std::uint64_t>(file("users"));
    set.sweeps = number<std::uint64_t>(file("sweeps"));
    return set;
}

std::vector<PublishedSet> published_sets(const SystemPaths& paths) {
    std::vector<PublishedSet> sets;
    for (const std::string& name : list_directory(paths.sets)) {
        try {
            auto set = published_set(name, paths);
            if (set) sets.push_back(std::move(*set));
        } catch (const Error&) {  // it was removed meanwhile
        }
    }
    return sets;
}

}  // namespace detail
}  // namespace metagroup
