// SPDX-License-Identifier: MIT
// metagroup complete: prints candidates for the last word. The completions of all shells call it,
// so they need no lists of subcommands and options.
//
// Prints one line per candidate, with its description after a tab. Prints `:files` or `:commands`
// where the shell completes better, and `:list` before candidates that must not be followed by a
// space. The type name of an option selects the candidates for its value: EVENTS, CPUS, SET, FILE,
// COMMAND.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <metagroup/known_events.hpp>
#include <metagroup/metagroup.hpp>
#include <metagroup/published_set.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/command_line.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

const CLI::App* find_subcommand(const CLI::App& app, const std::string& name) {
    for (const CLI::App* sub : subcommands_of(app))
        if (!name.empty() && sub->get_name() == name) return sub;
    return nullptr;
}

bool takes_value(const CLI::Option& option) {
    return option.get_items_expected_max() > 0;
}

class Completion {
  public:
    // Completes the last word.
    Completion(const CLI::App& app, const std::vector<std::string>& words);

    void print() const;

  private:
    void skip(const std::string& word);
    void option_names() const;
    void subcommands() const;
    void values(const CLI::Option& option, std::string_view head, std::string_view word) const;
    // The positional argument for the next word; nullptr if there is none.
    const CLI::Option* positional() const;

    const CLI::App* app_;
    std::string word_;
    const CLI::Option* pending_ = nullptr;  // its value is the next word
    std::size_t positionals_ = 0;           // seen so far
    bool options_end_ = false;
};

// Prints a candidate if it starts with `begin`. `head` is the part of the word before it.
void offer(std::string_view head, std::string_view begin, std::string_view candidate,
           std::string_view description) {
    if (candidate.starts_with(begin)) fmt::print("{}{}\t{}\n", head, candidate, description);
}

// Splits a list after its last separator: the complete items, and the start of the last one.
std::pair<std::string, std::string_view> last_item(std::string_view head, std::string_view list,
                                                   const char* separators) {
    const std::size_t begin = list.find_last_of(separators) + 1;  // npos + 1 is 0
    return {std::string(head).append(list.substr(0, begin)), list.substr(begin)};
}

void offer_events(std::string_view head, std::string_view list) {
    fmt::print(":list\n");
    if (std::ranges::count(list, '/') % 2 != 0) return;  // inside the fields of a PMU
    const auto [before, begin] = last_item(head, list, ",{");
    for (const metagroup::KnownEvent& event : metagroup::known_events())
        offer(before, begin, event.name, event.source);
}

void offer_cpus(std::string_view head, std::string_view list) {
    fmt::print(":list\n");
    const auto [before, begin] = last_item(head, list, ",-");
    for (const int cpu : metagroup::CpuList::online())
        offer(before, begin, std::to_string(cpu), "CPU");
    for (const char* word : {"online", "possible"})
        offer(head, list, word, "CPUs");
}

Completion::Completion(const CLI::App& app, const std::vector<std::string>& words) : app_(&app) {
    if (words.empty()) return;
    std::for_each(words.begin(), words.end() - 1, [this](const auto& word) { skip(word); });
    word_ = words.back();
}

// Parses a word before the last.
void Completion::skip(const std::string& word) {
    if (pending_ != nullptr) {
        pending_ = nullptr;
    } else if (!options_end_ && word == "--") {
        options_end_ = true;
    } else if (!options_end_ && word.starts_with('-')) {
        const CLI::Option* option = app_->get_option_no_throw(word);
        if (option != nullptr && takes_value(*option)) pending_ = option;
    } else if (const CLI::App* sub = positionals_ == 0 ? find_subcommand(*app_, word) : nullptr) {
        app_ = sub;
    } else {
        const CLI::Option* option = positional();
        // The rest belongs to the command.
        options_end_ |= option == nullptr || option->get_type_name().starts_with("COMMAND");
        ++positionals_;
    }
}

void Completion::print() const {
    if (pending_ != nullptr) return values(*pending_, "", word_);
    if (!options_end_ && word_.starts_with('-')) {
        const std::size_t equals = word_.find('=');
        if (equals == std::string::npos) return option_names();
        const CLI::Option* option = app_->get_option_no_throw(word_.substr(0, equals));
        const std::string_view word = word_;
        if (option != nullptr) values(*option, word.substr(0, equals + 1), word.substr(equals + 1));
        return;
    }
    subcommands();
    if (const CLI::Option* option = positional()) values(*option, "", word_);
}

void Completion::option_names() const {
    for (const CLI::Option* option : options_of(*app_)) {
        if (option->get_group().empty()) continue;  // hidden
        for (const std::string& name : option->get_snames())
            offer("-", word_.substr(1), name, option->get_description());
        for (const std::string& name : option->get_lnames())
            if (word_.size() < 2 || word_.starts_with("--"))
                offer("--", word_.substr(std::min<std::size_t>(word_.size(), 2)), name,
                      option->get_description());
    }
}

void Completion::subcommands() const {
    if (positionals_ > 0) return;
    for (const CLI::App* sub : subcommands_of(*app_))
        if (!sub->get_name().empty() && !sub->get_group().empty())
            offer("", word_, sub->get_name(), sub->get_description());
}

const CLI::Option* Completion::positional() const {
    std::size_t passed = 0;
    for (const CLI::Option* option : options_of(*app_)) {
        if (!option->get_positional()) continue;
        passed += static_cast<std::size_t>(option->get_items_expected_max());
        if (positionals_ < passed) return option;
    }
    return nullptr;
}

void Completion::values(const CLI::Option& option, std::string_view head,
                        std::string_view word) const {
    const std::string type = option.get_type_name();
    if (const std::size_t brace = type.find(":{"); brace != std::string::npos) {
        // CLI::IsMember lists the values there.
        for (const std::string& value :
             CLI::detail::split(type.substr(brace + 2, type.find('}') - brace - 2), ','))
            offer(head, word, value, "");
    } else if (type.starts_with("EVENTS")) {
        offer_events(head, word);
    } else if (type.starts_with("CPUS")) {
        offer_cpus(head, word);
    } else if (type.starts_with("SET")) {
        for (const metagroup::PublishedSet& set : metagroup::published_sets())
            offer(head, word, set.name, "on CPUs " + set.cpus.to_string());
    } else if (type.starts_with("FILE") || (type.starts_with("COMMAND") && positionals_ > 0)) {
        fmt::print(":files\n");
    } else if (type.starts_with("COMMAND")) {
        fmt::print(":commands\n");
    }
}

}  // namespace

void add_complete(CLI::App& app) {
    CLI::App* complete =
        app.add_subcommand("complete", "candidates for shell completion")->group("");
    const auto words = std::make_shared<std::vector<std::string>>();
    complete->add_option("words", *words);
    complete->callback([&app, words] { Completion(app, *words).print(); });
}

}  // namespace tool
