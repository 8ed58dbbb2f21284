// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "diagnostics.hpp"
#include "event_sources.hpp"
#include "format.hpp"

namespace metagroup {
namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Parses lists and groups. resolve_event() resolves each event.
class EventSpecParser {
  public:
    EventSpecParser(std::string_view text, const detail::SystemPaths& paths)
        : text_(text), paths_(paths) {}

    /// Throws SpecError, with the offset in the text.
    std::vector<GroupSpec> list() {
        std::vector<GroupSpec> groups;
        for (;;) {
            skip_blanks();
            if (peek() == '{')
                std::ranges::move(group(), std::back_inserter(groups));
            else
                for (EventSpec& one : event(false))
                    groups.push_back({{std::move(one)}});
            skip_blanks();
            if (at_end()) return groups;
            if (peek() == '}') fail(pos_, "'}' without '{'", "remove it");
            expect_comma();
        }
    }

  private:
    [[noreturn]] static void fail(std::size_t at, std::string reason, std::string remedy) {
        throw detail::SpecError(at, {Cause::syntax, std::move(reason), std::move(remedy)});
    }
    [[nodiscard]] bool at_end() const { return pos_ == text_.size(); }
    [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[pos_]; }
    void skip_blanks() {
        while (!at_end() && is_blank(peek()))
            ++pos_;
    }
    void expect_comma() {
        if (peek() != ',')
            fail(pos_, detail::format("unexpected '{}'", peek()),
                 "write ',' between events and groups");
        ++pos_;
    }

    // Several groups if its events name several PMUs: one for each.
    std::vector<GroupSpec> group() {
        const std::size_t start = pos_++;
        std::vector<GroupSpec> groups(1);
        skip_blanks();
        if (peek() == '}') fail(start, "the group is empty", "name its events, as in \"{a,b}\"");
        for (;;) {
            skip_blanks();
            if (at_end()) fail(start, "the group is not closed", "add '}'");
            const std::size_t place = pos_;
            add_to(groups, event(true), place);
            skip_blanks();
            if (at_end()) fail(start, "the group is not closed", "add '}'");
            if (peek() == '}') break;
            expect_comma();
        }
        ++pos_;
        if (peek() == ':') group_modifiers(groups);
        return groups;
    }

    static void add_to(std::vector<GroupSpec>& groups, std::vector<EventSpec> events,
                       std::size_t place) {
        const bool several = !events[0].merged.empty();
        if (groups[0].events.empty()) {
            if (several) groups.resize(events.size());
        } else if (several != !groups[0].events[0].merged.empty() ||
                   (several &&
                    !std::ranges::equal(events, groups, {}, &type_of, [](const GroupSpec& group) {
                        return type_of(group.events[0]);
                    }))) {
            fail(place,
                 detail::format(
                     "the group has events of several PMUs, but \"{}\" is not of the same PMUs",
                     events[0].merged.empty() ? events[0].name : events[0].merged),
                 "count it outside the group");
        }
        for (std::size_t i = 0; i < events.size(); ++i) {
            GroupSpec& group = groups[several ? i : 0];
            if (!group.events.empty()) check_sibling(events[i], place);
            group.events.push_back(std::move(events[i]));
        }
    }
    static std::uint32_t type_of(const EventSpec& event) { return event.attr.type; }

    // The kernel accepts these only on leaders. Its EINVAL would not name the position.
    static void check_sibling(const EventSpec& event, std::size_t place) {
        if (event.attr.pinned == 0 && event.attr.exclusive == 0) return;
        fail(place,
             detail::format("event \"{}\" is a sibling: only a group's first event can be "
                            "pinned (D) or exclusive (e)",
                            event.name),
             "write \"{a,b}:D\"");
    }

    void group_modifiers(std::vector<GroupSpec>& groups) {
        const std::size_t start = ++pos_;
        while (!at_end() && peek() != ',' && !is_blank(peek()) && peek() != '}')
            ++pos_;
        const std::string_view letters = text_.substr(start, pos_ - start);
        for (GroupSpec& group : groups) {
            detail::Modifiers modifiers = detail::parse_modifiers(letters, start);
            for (EventSpec& event : group.events) {
                detail::apply_modifiers(modifiers, paths_, event.attr);
                // Only leaders can be pinned or exclusive.
                modifiers.pinned = modifiers.exclusive = false;
                if (named_.contains(event.name)) continue;
                event.name = detail::with_modifiers(std::move(event.name), letters);
                if (!event.merged.empty())
                    event.merged = detail::with_modifiers(std::move(event.merged), letters);
            }
            group.modifiers = letters;
        }
    }

    std::vector<EventSpec> event(bool in_group) {
        constexpr std::string_view ends = " \t\n\r,}{/";
        constexpr std::string_view ends_of_terms = " \t\n\r{/";  // terms contain commas
        const std::size_t start = pos_;
        std::size_t slash = npos_;
        pos_ = std::min(text_.find_first_of(ends, start), text_.size());
        if (peek() == '/') {
            slash = pos_;
            pos_ = detail::find_unquoted(text_, slash + 1, ends_of_terms);
            if (at_end() || is_blank(peek()))
                fail(slash, "the terms of the PMU are not closed", "add '/'");
            if (peek() == '/') pos_ = std::min(text_.find_first_of(ends, pos_ + 1), text_.size());
        }
        if (peek() == '/') fail(pos_, "a third '/'", "write \"pmu/terms/\"");
        if (peek() == '{') {
            if (in_group) fail(pos_, "a group inside a group", "close the first with '}'");
            fail(pos_, "'{' inside an event", "write ',' before a group");
        }
        const std::string_view word = text_.substr(start, pos_ - start);
        if (word.empty()) fail(start, "an event is missing here", "add one, or remove the ','");
        // libpfm4 and system calls would truncate the name here.
        if (const std::size_t nul = word.find('\0'); nul != npos_)
            fail(start + nul, "a NUL inside an event", "remove it");
        try {
            std::vector<EventSpec> specs = detail::resolve_event(word, paths_);
            for (const EventSpec& spec : specs)
                if (slash != npos_ && (spec.merged.empty() ? spec.name : spec.merged) != word)
                    named_.insert(spec.name);
            return specs;
        } catch (const detail::SpecError& error) {
            throw detail::SpecError(start + error.offset(), error.diagnosis());
        }
    }

    static constexpr auto npos_ = std::string_view::npos;
    std::string_view text_;
    const detail::SystemPaths& paths_;
    std::size_t pos_ = 0;
    std::set<std::string> named_{};  // by name=
};

}  // namespace

std::string to_string(const GroupSpec& group) {
    std::string text;
    for (const EventSpec& event : group.events) {
        if (!text.empty()) text += ',';
        text += event.name;
    }
    // The other modifiers are part of the names.
    std::string letters = group.modifiers;
    std::erase_if(letters, [](char letter) {
        return std::string_view("DeSW").find(letter) == std::string_view::npos;
    });
    if (!letters.empty()) return detail::format("{{{}}}:{}", text, letters);
    return group.events.size() == 1 ? text : detail::format("{{{}}}", text);
}

std::vector<GroupSpec> parse_events(std::string_view text) {
    return detail::parse_events(text, {});
}

namespace detail {

std::size_t find_unquoted(std::string_view text, std::size_t from, std::string_view stops) {
    for (std::size_t at = from; at < text.size(); ++at) {
        const char c = text[at];
        if (stops.find(c) != stops.npos) return at;
        if (c != '\'' && c != '"') continue;
        const std::size_t quote = at;
        at = text.find(c, quote + 1);
        if (at == text.npos)
            throw SpecError(quote,
                            {Cause::syntax, "the quoted text is not closed", "add the quote"});
    }
    return text.size();
}

std::vector<GroupSpec> parse_events(std::string_view text, const SystemPaths& paths) {
    try {
        return EventSpecParser(text, paths).list();
    } catch (const SpecError& error) {
        throw_parse_error("event list", text, error.offset(), error.diagnosis());
    }
}

}  // namespace detail
}  // namespace metagroup
