// SPDX-License-Identifier: MIT

#include <metagroup/event_spec.hpp>
#include <stdexcept>
#include <utility>

#include "error.hpp"
#include "event_resolver.hpp"
#include "formatted.hpp"
#include "modifiers.hpp"

namespace metagroup {
namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// The grammar of lists and groups; what an event means is not its business.
class EventSpecParser {
  public:
    EventSpecParser(std::string_view text, const detail::SystemPaths& paths)
        : text_(text), paths_(paths) {}

    std::vector<GroupSpec> list() {
        std::vector<GroupSpec> groups;
        for (;;) {
            skip_blanks();
            groups.push_back(peek() == '{' ? group() : GroupSpec{{event(false)}});
            skip_blanks();
            if (at_end()) return groups;
            if (peek() == '}') fail(pos_, "'}' without '{': remove it");
            expect_comma();
        }
    }

  private:
    [[noreturn]] void fail(std::size_t at, std::string_view message) const {
        detail::throw_parse_error("event list", text_, at, message);
    }
    [[nodiscard]] bool at_end() const { return pos_ == text_.size(); }
    [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[pos_]; }
    void skip_blanks() {
        while (!at_end() && is_blank(peek()))
            ++pos_;
    }
    void expect_comma() {
        if (peek() != ',') {
            fail(pos_,
                 detail::formatted("unexpected '{}': write ',' between events and groups", peek()));
        }
        ++pos_;
    }

    GroupSpec group() {
        const std::size_t start = pos_++;
        GroupSpec group;
        skip_blanks();
        if (peek() == '}') fail(start, "the group is empty: name its events, as in \"{a,b}\"");
        for (;;) {
            skip_blanks();
            if (at_end()) fail(start, "the group is never closed: add '}'");
            const std::size_t place = pos_;
            group.events.push_back(event(true));
            if (group.events.size() > 1) check_sibling(group.events.back(), place);
            skip_blanks();
            if (at_end()) fail(start, "the group is never closed: add '}'");
            if (peek() == '}') break;
            expect_comma();
        }
        ++pos_;
        if (peek() == ':') group_modifiers(group);
        return group;
    }

    // The kernel wants these of leaders only; say so while the text is at hand.
    void check_sibling(const EventSpec& event, std::size_t place) const {
        if (event.attr.pinned == 0 && event.attr.exclusive == 0) return;
        fail(place,
             detail::formatted("event \"{}\" is a sibling: only a group's first event can be "
                               "pinned (D) or exclusive (e); write \"{{a,b}}:D\"",
                               event.name));
    }

    void group_modifiers(GroupSpec& group) {
        const std::size_t start = ++pos_;
        while (!at_end() && peek() != ',' && !is_blank(peek()) && peek() != '}')
            ++pos_;
        const std::string_view letters = text_.substr(start, pos_ - start);
        detail::Modifiers modifiers;
        try {
            modifiers = detail::parse_modifiers(letters, start);
        } catch (const detail::SpecError& error) {
            fail(error.offset(), error.what());
        }
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
                if (slashes > 2) fail(pos_, "a third '/': write \"pmu/terms/\"");
            } else if (c == '\0') {
                // libpfm4 and the names of files would end here.
                fail(pos_, "a NUL inside an event: remove it");
            } else if (c == '{') {
                fail(pos_, in_group ? "a group inside a group: close the first with '}'"
                                    : "'{' inside an event: write ',' before a group");
            }
        }
        if (slashes == 1) fail(slash, "the terms of the PMU are never closed: add '/'");
        const std::string_view word = text_.substr(start, pos_ - start);
        if (word.empty()) {
            fail(start, "an event is missing here: name one, or remove the ','");
        }
        try {
            return detail::resolve_event(word, paths_);
        } catch (const detail::SpecError& error) {
            fail(start + error.offset(), error.what());
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
    if (!group.modifiers.empty()) return detail::formatted("{{{}}}:{}", text, group.modifiers);
    return group.events.size() == 1 ? text : detail::formatted("{{{}}}", text);
}

std::vector<GroupSpec> parse_events(std::string_view text) {
    return detail::parse_events(text, {});
}

namespace detail {

std::vector<GroupSpec> parse_events(std::string_view text, const SystemPaths& paths) {
    return EventSpecParser(text, paths).list();
}

}  // namespace detail
}  // namespace metagroup
