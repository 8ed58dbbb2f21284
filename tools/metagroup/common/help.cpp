// SPDX-License-Identifier: MIT
#include "common/help.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "common/command_line.hpp"

namespace tool {
namespace {

struct Line {
    std::string name;
    std::string text;
};

// The value of an option: its kind, or the allowed words.
std::string value_of(const CLI::Option& option) {
    if (option.get_items_expected_max() == 0) return "";
    const std::string type = option.get_type_name();
    const std::size_t words = type.find(":{");
    // A range or units.
    if (words == type.npos) return type.ends_with(']') ? type.substr(0, type.find(':')) : type;
    std::string choice = type.substr(words + 2, type.rfind('}') - words - 2);
    std::ranges::replace(choice, ',', '|');
    return choice;
}

std::string name_of(const CLI::Option& option) {
    std::string name;
    for (const std::string& letter : option.get_snames())
        name += (name.empty() ? "-" : ", -") + letter;
    if (name.empty()) name = "    ";
    for (const std::string& word : option.get_lnames())
        name += (name.ends_with(' ') ? "--" : ", --") + word;
    const std::string value = value_of(option);
    return value.empty() ? name : name + ' ' + value;
}

// The first part of the description, and the default if it is short.
std::string text_of(const CLI::Option& option) {
    constexpr std::size_t kShort = 32;
    const std::string all = option.get_description();
    std::string text = all.substr(0, all.find(';'));
    const std::string value = option.get_default_str();
    if (!value.empty() && value.size() <= kShort) text += fmt::format(" [{}]", value);
    return text;
}

std::string table(const std::vector<Line>& lines) {
    std::size_t width = 0;
    for (const Line& line : lines)
        width = std::max(width, line.name.size());
    std::string text;
    for (const auto& [name, what] : lines)
        text += fmt::format("  {:<{}}  {}\n", name, width, what);
    return text;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode /*mode*/) const {
    std::vector<Line> options;
    std::vector<Line> positionals;
    std::string usage = fmt::format("Usage: {} [OPTION]...", name);
    for (const CLI::Option* option : options_of(*app)) {
        // Option groups have their own --help.
        const bool is_help = option->check_lname("help") && option != app->get_help_ptr();
        if (option->get_group().empty() || is_help) continue;  // hidden
        if (option->nonpositional()) options.push_back({name_of(*option), text_of(*option)});
        if (!option->get_positional()) continue;
        positionals.push_back({value_of(*option), text_of(*option)});
        const std::string& value = positionals.back().name;
        usage += option->get_required() ? " " + value : fmt::format(" [{}]", value);
    }
    std::vector<Line> subcommands;
    for (const CLI::App* sub : subcommands_of(*app))
        if (!sub->get_name().empty() && !sub->get_group().empty())
            subcommands.push_back({sub->get_name(), sub->get_description()});

    if (!subcommands.empty()) usage += " SUBCOMMAND";
    std::string text = fmt::format("{}\n{}\n", usage, app->get_description());
    if (!positionals.empty()) text += '\n' + table(positionals);
    if (!options.empty()) text += '\n' + table(options);
    if (!subcommands.empty()) text += "\nSubcommands:\n" + table(subcommands);
    if (!app->get_footer().empty()) text += '\n' + app->get_footer() + '\n';
    return text;
}

}  // namespace tool
