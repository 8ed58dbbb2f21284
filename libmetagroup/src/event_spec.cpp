// SPDX-License-Identifier: MIT
#include "diagnostics.hpp"
#include "event_sources.hpp"
#include "format.hpp"

namespace metagroup {
namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// The grammar of lists and groups. resolve_event() gives an event its meaning.
class EventSpecParser {
  public:
    EventSpecParser(std::string_view text, const detail::SystemPaths& paths)
        : text_(text), paths_(paths) {}

    /// Throws SpecError, counted from the start of the text.
    std::vector<GroupSpec> list() {
        std::vector<GroupSpec> groups;
        for (;;) {
            skip_blanks();
            groups.push_back(peek() == '{' ? group() : GroupSpec{{event(false)}});
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

    GroupSpec group() {
        const std::size_t start = pos_++;
        GroupSpec group;
        skip_blanks();
        if (peek() == '}') fail(start, "the group is empty", "name its events, as in \"{a,b}\"");
        for (;;) {
            skip_blanks();
            if (at_end()) fail(start, "the group is not closed", "add '}'");
            const std::size_t place = pos_;
            group.events.push_back(event(true));
            if (group.events.size() > 1) check_sibling(group.events.back(), place);
            skip_blanks();
            if (at_end()) fail(start, "the group is not closed", "add '}'");
            if (peek() == '}') break;
            expect_comma();
        }
        ++pos_;
        if (peek() == ':') group_modifiers(group);
        return group;
    }

    // The kernel takes these of leaders only. Its EINVAL would not name the place.
    static void check_sibling(const EventSpec& event, std::size_t place) {
        if (event.attr.pinned == 0 && event.attr.exclusive == 0) return;
        fail(place,
             detail::format("event \"{}\" is a sibling: only a group's first event can be "
                            "pinned (D) or exclusive (e)",
                            event.name),
             "write \"{a,b}:D\"");
    }

    void group_modifiers(GroupSpec& group) {
        const std::size_t start = ++pos_;
        while (!at_end() && peek() != ',' && !is_blank(peek()) && peek() != '}')
            ++pos_;
        const std::string_view letters = text_.substr(start, pos_ - start);
        detail::Modifiers modifiers = detail::parse_modifiers(letters, start);
        for (EventSpec& event : group.events) {
            detail::apply_modifiers(modifiers, event.attr);
            // Only leaders can be pinned or exclusive.
            modifiers.pinned = modifiers.exclusive = false;
        }
        group.modifiers = letters;
    }

    EventSpec event(bool in_group) {
        const std::size_t start = pos_;
        std::size_t slash = npos_;
        unsigned slashes = 0;
        for (; !at_end(); ++pos_) {
            const char c = peek();
            // A comma between the slashes belongs to the PMU's terms.
            if (is_blank(c) || (slashes != 1 && (c == ',' || c == '}'))) break;
            if (c == '/') {
                if (++slashes == 1) slash = pos_;
                if (slashes > 2) fail(pos_, "a third '/'", "write \"pmu/terms/\"");
            } else if (c == '\0') {
                // libpfm4 and system calls would cut the name off here.
                fail(pos_, "a NUL inside an event", "remove it");
            } else if (c == '{') {
                if (in_group) fail(pos_, "a group inside a group", "close the first with '}'");
                fail(pos_, "'{' inside an event", "write ',' before a group");
            }
        }
        if (slashes == 1) fail(slash, "the terms of the PMU are not closed", "add '/'");
        const std::string_view word = text_.substr(start, pos_ - start);
        if (word.empty()) fail(start, "an event is missing here", "name one, or remove the ','");
        try {
            return detail::resolve_event(word, paths_);
        } catch (const detail::SpecError& error) {
            throw detail::SpecError(start + error.offset(), error.diagnosis());
        }
    }

    static constexpr auto npos_ = std::string_view::npos;
    std::string_view text_;
    const detail::SystemPaths& paths_;
    std::size_t pos_ = 0;
};

}  // namespace

std::string to_string(const GroupSpec& group) {
    std::string text;
    for (const EventSpec& event : group.events) {
        if (!text.empty()) text += ',';
        text += event.name;
    }
    if (!group.modifiers.empty()) return detail::format("{{{}}}:{}", text, group.modifiers);
    return group.events.size() == 1 ? text : detail::format("{{{}}}", text);
}

std::vector<GroupSpec> parse_events(std::string_view text) {
    return detail::parse_events(text, {});
}

namespace detail {

std::vector<GroupSpec> parse_events(std::string_view text, const SystemPaths& paths) {
    try {
        return EventSpecParser(text, paths).list();
    } catch (const SpecError& error) {
        throw_parse_error("event list", text, error.offset(), error.diagnosis());
    }
}

}  // namespace detail
}  // namespace metagroup
