// SPDX-License-Identifier: MIT
#include "common/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <metagroup/error.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/suggestion.hpp>
#include <stdexcept>
#include <string_view>

namespace tool {
namespace {

using metagroup::did_you_mean;
using std::chrono::nanoseconds;

struct Unit {
    std::string_view name;
    double ns;
};
constexpr std::array<Unit, 5> kUnits{
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}}};
constexpr double kLongest = 1e15;  // ns: eleven days

// Nanoseconds; no value if the text is not a time.
std::optional<double> parse_time(std::string_view text, nanoseconds bare) {
    double number = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, number);
    if (error != std::errc{} || std::isnan(number)) return std::nullopt;
    const std::string_view unit(end, static_cast<std::size_t>(last - end));
    if (unit.empty()) return number * static_cast<double>(bare.count());
    const auto* const found = std::ranges::find(kUnits, unit, &Unit::name);
    if (found == kUnits.end()) return std::nullopt;
    return number * found->ns;
}

void collect(const CLI::App& app, std::vector<const CLI::Option*>& found) {
    for (const CLI::Option* option : app.get_options())
        if (std::ranges::find(found, option) == found.end()) found.push_back(option);
    for (const CLI::App* sub : subcommands_of(app))
        if (sub->get_name().empty()) collect(*sub, found);
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* sub : subcommands_of(app))
        if (!sub->get_name().empty() && !sub->get_group().empty()) names.push_back(sub->get_name());
    return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : options_of(app))
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
    return names;
}

// Describes an unknown option or argument; empty if all words are known.
std::string describe_unknown_word(const CLI::App& app) {
    const CLI::App* where = &app;
    std::string of;
    while (where->remaining().empty() && !where->get_subcommands().empty()) {
        where = where->get_subcommands().front();
        of += (of.empty() ? "" : " ") + where->get_name();
    }
    if (!of.empty()) of += ": ";
    std::vector<std::string> words = where->remaining();
    words.erase(std::ranges::find(words, "--"), words.end());  // a command is not parsed
    if (words.empty()) return "";
    const std::string word = words.front();
    if (word.starts_with('-')) {
        const std::string option = word.substr(0, word.find('='));
        return fmt::format("{}unknown option \"{}\"; {}", of, option,
                           did_you_mean(option, option_names(*where), "see --help"));
    }
    const std::vector<std::string> names = subcommand_names(*where);
    if (names.empty()) return fmt::format("{}unexpected argument \"{}\"; see --help", of, word);
    return fmt::format(
        "{}unknown subcommand \"{}\"; {}", of, word,
        did_you_mean(word, names, fmt::format("the subcommands are {}", fmt::join(names, ", "))));
}

// True if the value of the option, or of the last of several letters, is the next word.
bool value_follows(const CLI::App& app, const std::string& word) {
    const auto takes_value = [&](const std::string& name) {
        const CLI::Option* option = app.get_option_no_throw(name);
        return option != nullptr && option->get_items_expected_max() > 0;
    };
    if (word.starts_with("--")) return word.find('=') == word.npos && takes_value(word);
    for (std::size_t i = 1; i < word.size(); ++i)
        if (takes_value({'-', word[i]})) return i + 1 == word.size();
    return false;
}

// CLI11 takes a word in brackets as a list of words, but not with this in front of it.
constexpr char kMark = '=';

bool runs_command(const CLI::App& app) {
    return std::ranges::any_of(options_of(app), [](const CLI::Option* option) {
        return option->get_positional() && option->get_type_name() == "COMMAND";
    });
}

}  // namespace

// CLI11's own conversion reads -1 as 2^64-1, and 010 as eight.
CLI::Option* add_count(CLI::App& app, const std::string& name, std::optional<std::uint32_t>& count,
                       const std::string& help) {
    const auto set = [name, &count](const std::string& text) {
        std::uint32_t number = 0;
        const char* const last = text.data() + text.size();
        const auto [end, error] = std::from_chars(text.data(), last, number);
        if (error != std::errc{} || end != last || number == 0)
            throw CLI::ValidationError(name,
                                       fmt::format("\"{}\" is not a number from 1 to {}", text,
                                                   std::numeric_limits<std::uint32_t>::max()));
        count = number;
    };
    return app.add_option_function<std::string>(name, set, help)->type_name("N");
}

// CLI11's own units keep only six digits of a number.
CLI::Option* add_duration(CLI::App& app, const std::string& name,
                          std::optional<nanoseconds>& duration, nanoseconds bare, nanoseconds least,
                          const std::string& help) {
    const auto set = [=, &duration, name = name.substr(name.find("--"))](const std::string& text) {
        const auto ns = parse_time(text, bare);
        if (!ns)
            throw CLI::ValidationError(name, fmt::format("\"{}\" is not a time: use a number with "
                                                         "ns, us, ms, s or min, e.g. 100us or 2s",
                                                         text));
        if (*ns < static_cast<double>(least.count()) || *ns > kLongest)
            throw CLI::ValidationError(name,
                                       fmt::format("{} is not between {} us and {:.0f} s", text,
                                                   least.count() / 1000, kLongest / 1e9));
        duration = nanoseconds(std::llround(*ns));
    };
    return app.add_option_function<std::string>(name, set, help)->type_name("TIME");
}

void add_device(CLI::App& app, std::string& device) {
    app.add_option("--device", device, "the module's device")
        ->check(not_empty())
        ->type_name("FILE")
        ->capture_default_str();
}

void add_aggregation(CLI::App& app, AggrMode& mode) {
    CLI::Option_group* rows = app.add_option_group("rows");
    const auto add = [&](const char* name, AggrMode value, const char* help) {
        rows->add_option(app.add_flag_callback(
            name, [&mode, value] { mode = value; }, help));
    };
    add("-A,--per-cpu", AggrMode::cpu, "one row per CPU");
    add("--per-core", AggrMode::core, "one row per core");
    add("--per-cache", AggrMode::cache, "one row per last-level cache");
    add("--per-die", AggrMode::die, "one row per die");
    add("--per-socket", AggrMode::socket, "one row per socket");
    add("--per-node", AggrMode::node, "one row per NUMA node");
    rows->require_option(0, 1);
}

CLI::Option* add_command(CLI::App& app, std::vector<std::string>& command,
                         const std::string& help) {
    const auto without_mark = [](std::string& word) {
        word.erase(0, 1);
        return std::string();
    };
    return app.add_option("command", command, help)
        ->transform(CLI::Validator(without_mark, ""))
        ->type_name("COMMAND");
}

CLI::Validator not_empty() {
    return {[](const std::string& text) { return text.empty() ? "must not be empty" : ""; }, ""};
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
    std::vector<const CLI::Option*> found;
    collect(app, found);
    return found;
}

std::vector<std::string> separate_command(const CLI::App& app, std::vector<std::string> words) {
    const CLI::App* where = &app;
    auto word = words.begin();
    for (; word != words.end() && *word != "--"; ++word) {
        if (word->starts_with('-')) {
            if (value_follows(*where, *word) && ++word == words.end()) break;
            continue;
        }
        const auto subcommands = subcommands_of(*where);
        const auto sub = std::ranges::find(subcommands, *word, &CLI::App::get_name);
        if (sub != subcommands.end()) {
            where = *sub;
            continue;
        }
        break;
    }
    if (word == words.end() || !runs_command(*where)) return words;
    if (*word != "--") word = words.insert(word, "--");
    for (++word; word != words.end(); ++word)
        word->insert(0, 1, kMark);
    return words;
}

std::string describe_usage_error(const CLI::App& app, const CLI::ParseError& error) {
    if (std::string unknown = describe_unknown_word(app); !unknown.empty()) return unknown;
    std::string text = error.what();
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
        const bool missing = text.ends_with(" missing");
        text = text.substr(0, text.find(':')) + (missing ? " needs a value" : " is given twice");
    }
    return text + "; see --help";
}

void Selection::add_set_options(CLI::App& app) {
    CLI::Option* events =
        app.add_option("-e,--event", events_,
                       "events, e.g. cycles,{instructions,cache-misses}; events in braces are "
                       "counted as a group; can be given several times")
            ->check(not_empty())
            ->allow_extra_args(false)
            ->type_name("EVENTS");
    // Finding the default events opens them, so do it only for the subcommand in use.
    app.preparse_callback([events](std::size_t) { events->default_str(default_events()); });
    app.add_flag_callback(
        "-a,--all-cpus", [] {}, "all online CPUs (the default)");
    app.add_option("-C,--cpu", cpus_, "CPUs, e.g. 0-3,8")->type_name("CPUS")->capture_default_str();
    add_device(app, device_);
}

namespace {

// perf's options that select tasks; hidden from --help.
void refuse_tasks(CLI::App& app) {
    for (const char* name : {"-p,--pid", "-t,--tid", "-u,--uid"})
        app.add_option_function<std::string>(
               name,
               [](const std::string&) {
                   throw std::invalid_argument(
                       "-p, -t and -u select tasks, but all tasks on the CPUs are counted; use -G "
                       "CGROUP to count a cgroup, or perf stat to count a process");
               },
               "")
            ->group("");
}

}  // namespace

void Selection::add_options(CLI::App& app) {
    add_set_options(app);
    refuse_tasks(app);
    app.add_option("-G,--cgroup", cgroup_, "count only tasks in this cgroup, e.g. system.slice")
        ->check(not_empty())
        ->type_name("CGROUP");
    app.add_option("--backend", backend_, "how to read counters; percpu is experimental")
        ->check(CLI::IsMember({"auto", "module", "per-fd", "percpu"}))
        ->capture_default_str();
    app.add_option("--origin", origin_,
                   "event groups, or sets opened by the module; groups may be multiplexed, sets "
                   "are pinned; auto means groups")
        ->check(CLI::IsMember({"auto", "groups", "set"}))
        ->capture_default_str();
    CLI::Option* set = app.add_option("--set", set_, "use the events and CPUs of a published set")
                           ->check(not_empty())
                           ->type_name("SET");
    for (const char* other : {"--event", "--all-cpus", "--cpu", "--cgroup", "--origin"})
        set->excludes(app.get_option(other));
    app.add_flag("--quiet-cpus", mode_.quiet,
                 "do not wake idle CPUs; their counts date from idle entry");
    app.add_flag("--skip-isolated", mode_.skip_isolated,
                 "do not interrupt isolated CPUs (nohz_full, isolcpus)");
}

metagroup::MetaGroup::Options Selection::options(std::vector<metagroup::GroupSpec> first) const {
    metagroup::MetaGroup::Options options;
    options.set = set_;
    options.groups = std::move(first);
    if (set_.empty()) {
        if (!events_.empty() || options.groups.empty()) {
            auto events = metagroup::parse_events(
                events_.empty() ? default_events() : fmt::format("{}", fmt::join(events_, ",")));
            std::ranges::move(events, std::back_inserter(options.groups));
        }
        options.cpus = metagroup::CpuList::parse(cpus_);
    }
    using metagroup::Backend;
    using metagroup::EventOrigin;
    static const std::map<std::string, EventOrigin> origins{{"auto", EventOrigin::automatic},
                                                            {"groups", EventOrigin::groups},
                                                            {"set", EventOrigin::set}};
    options.origin = origins.at(origin_);
    static const std::map<std::string, Backend> backends{{"auto", Backend::automatic},
                                                         {"module", Backend::module},
                                                         {"per-fd", Backend::per_fd},
                                                         {"percpu", Backend::percpu}};
    options.backend = backends.at(backend_);
    options.cgroup = cgroup_;
    options.device = device_;
    options.mode = mode_;
    options.start_disabled = true;
    return options;
}

std::string default_events() {
    std::string events = "context-switches,cpu-migrations,page-faults";
    bool hardware = false;
    for (const char* group : {"{cycles,instructions}", "{branches,branch-misses}"}) {
        if (!can_count(group)) continue;
        events += std::string(",") + group;
        hardware = true;
    }
    if (hardware) return events;
    events.insert(0, "cpu-clock,");
    return can_count("msr/tsc/") ? events + ",msr/tsc/" : events;
}

bool can_count(const std::string& events) {
    try {
        return metagroup::can_count(metagroup::parse_events(events).front());
    } catch (const metagroup::Error&) {
        return false;
    }
}

}  // namespace tool
