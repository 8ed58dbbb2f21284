// SPDX-License-Identifier: MIT
// metagroup set: manages published sets, which other programs can join.
#include <fmt/format.h>
#include <grp.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <metagroup/device.hpp>
#include <metagroup/error.hpp>
#include <metagroup/metagroup.hpp>
#include <metagroup/published_set.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/fact_table.hpp"
#include "common/text.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

using metagroup::Cause;
using metagroup::Error;
using metagroup::MetaGroup;

constexpr const char* kUsers = "perf_metagroup";

struct SetOptions {
    std::string name;
    Selection selection;
    unsigned mode = 0440;
    std::string group;  // empty for kUsers, if that group exists
    std::string device = PERF_METAGROUP_DEVICE;
    bool json = false;
};

// Only the bits that permit users to join.
unsigned parse_mode(const std::string& text) {
    unsigned mode = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, mode, 8);
    if (error != std::errc{} || end != last || mode > 0777)
        throw CLI::ValidationError("--mode",
                                   fmt::format("\"{}\" is not a file mode, e.g. 0440", text));
    return mode & 0444;
}

// \throws std::invalid_argument if there is no such group.
std::optional<std::uint32_t> group_number(const std::string& name) {
    if (const group* const found = ::getgrnam(name.empty() ? kUsers : name.c_str()))
        return found->gr_gid;
    if (name.empty()) return std::nullopt;
    std::uint32_t number = 0;
    const char* const last = name.data() + name.size();
    const auto [end, error] = std::from_chars(name.data(), last, number);
    if (error == std::errc{} && end == last) return number;
    throw std::invalid_argument(
        fmt::format("--group: there is no group \"{}\"; \"getent group\" lists all", name));
}

void create_set(const SetOptions& options) {
    const auto gid = group_number(options.group);
    MetaGroup::Options what = options.selection.options();
    what.backend = metagroup::Backend::module;
    what.origin = metagroup::EventOrigin::set;
    what.follow = true;
    what.start_disabled = false;
    // Needed to record the set.
    what.read_format |= metagroup::ReadFormat::id;
    MetaGroup::open(what).publish(options.name, options.mode, gid);
}

std::string as_line(const Json& fact) {
    return fact.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

void list_sets(const SetOptions& options) {
    const Json sets = set_facts();
    std::string text;
    if (options.json) {
        for (const Json& set : sets)
            text += as_line(set);
    } else if (!sets.empty()) {
        text = table_of(sets);
    }
    Output("").write(text);
}

// Its event groups with their CPUs, visible only to users who may join.
Json joined_events(const SetOptions& options) {
    const MetaGroup group = MetaGroup::open({.set = options.name, .device = options.device});
    std::map<std::size_t, std::vector<int>> cpus;
    for (const MetaGroup::Member& member : group.members())
        cpus[member.group].push_back(member.cpu);
    Json groups = Json::array();
    for (const auto& [index, numbers] : cpus)
        groups.push_back({{"events", to_string(group.groups()[index])},
                          {"cpus", metagroup::CpuList(numbers).to_string()}});
    return groups;
}

void show_set(const SetOptions& options) {
    const auto set = metagroup::published_set(options.name);
    Json groups = nullptr;
    std::string unknown;
    try {
        groups = joined_events(options);
    } catch (const Error& error) {
        if (!set || error.cause() == Cause::no_such_set) throw;
        unknown = error.what();
    }
    Json fact = set ? set_fact(*set) : Json{{"name", options.name}};
    if (options.json) {
        fact["groups"] = groups;
        return Output("").write(as_line(fact));
    }
    std::string text = text_of(fact);
    if (unknown.empty())
        text += '\n' + table_of(groups);
    else
        text += fmt::format("\nThe events are unknown: {}\n", unknown);
    Output("").write(text);
}

void remove_set(const SetOptions& options) {
    metagroup::Device::open(options.device).unpublish(options.name);
}

CLI::App* add_action(CLI::App& set, const char* name, const char* help,
                     const std::shared_ptr<SetOptions>& options,
                     void (*action)(const SetOptions&)) {
    CLI::App* app = set.add_subcommand(name, help);
    app->callback([options, action] { action(*options); });
    return app;
}

void add_name(CLI::App& app, SetOptions& options, const char* type) {
    app.add_option("NAME", options.name, "the name of the set")
        ->required()
        ->check(not_empty())
        ->type_name(type);
}

}  // namespace

void add_set(CLI::App& app, int& /*status*/) {
    CLI::App* set = app.add_subcommand("set", "publish events under a name, for others to join");
    set->require_subcommand(1);
    const auto options = std::make_shared<SetOptions>();
    CLI::App* made =
        add_action(*set, "create", "open events and publish them", options, create_set);
    add_name(*made, *options, "NAME");
    options->selection.add_set_options(*made);
    made->add_option_function<std::string>(
            "--mode", [options](const std::string& text) { options->mode = parse_mode(text); },
            "who may join: the read bits of a file mode (0440)")
        ->type_name("MODE");
    made->add_option("--group", options->group,
                     "the group of the mode (perf_metagroup, if it exists)")
        ->check(not_empty())
        ->type_name("GROUP");
    CLI::App* all = add_action(*set, "list", "list the published sets", options, list_sets);
    CLI::App* one = add_action(*set, "show", "show a set and its events", options, show_set);
    add_name(*one, *options, "SET");
    add_device(*one, options->device);
    for (CLI::App* shown : {all, one})
        shown->add_flag("-j,--json", options->json, "print one line of JSON per set");
    CLI::App* gone = add_action(*set, "remove", "remove a set; existing users keep counting",
                                options, remove_set);
    add_name(*gone, *options, "SET");
    add_device(*gone, options->device);
}

}  // namespace tool
