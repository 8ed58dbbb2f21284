// SPDX-License-Identifier: MIT
// The steps of parse_events() and the sources of event names: perf itself, PMUs in sysfs, libpfm4
// and tracefs.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <metagroup/event_spec.hpp>
#include <metagroup/known_events.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "system.hpp"

namespace metagroup::detail {

inline constexpr const char* see_list = "see \"metagroup list\" for the available events";

/// parse_events() with a system that tests can replace.
std::vector<GroupSpec> parse_events(std::string_view text, const SystemPaths& paths);

/// describe_event() with a system that tests can replace.
EventSpec describe_event(const perf_event_attr& attr, const SystemPaths& paths);

/// The events that a word names, with modifiers: several if it has wildcards or names events of
/// several PMUs. Throws SpecError, with the offset in the word.
std::vector<EventSpec> resolve_event(std::string_view word, const SystemPaths& paths);

/// The position of the first unquoted character of `stops` at or after `from`; the size if there is
/// none. Throws SpecError, with the offset in the text, if a quote is not closed.
std::size_t find_unquoted(std::string_view text, std::size_t from, std::string_view stops);

/// The modifiers after an event or a group: `ukp`.
struct Modifiers {
    bool user = false;
    bool kernel = false;
    bool hypervisor = false;
    bool guest = false;
    bool host = false;
    bool not_idle = false;
    bool pinned = false;
    bool exclusive = false;
    bool most_precise = false;
    bool group_read = false;  // samples have the counts of the group, as they always do
    bool weak = false;
    unsigned precise = 0;
};

/// The name of an event with those modifiers of its group that affect what is counted: `cycles:u`.
std::string with_modifiers(std::string name, std::string_view letters);

/// True if the text is not empty and consists only of modifier letters.
bool looks_like_modifiers(std::string_view text) noexcept;

/// Parses the letters. Throws SpecError, with an offset relative to `offset`.
Modifiers parse_modifiers(std::string_view text, std::size_t offset);

/// Applies them as perf does: the first of u, k, h excludes the others; further ones, for example
/// those of the group, add to it.
void apply_modifiers(const Modifiers& modifiers, const SystemPaths& paths, perf_event_attr& attr);

/// known_events() with a system that tests can replace.
std::vector<KnownEvent> known_events(const SystemPaths& paths);

/// All candidates for suggestions, including names that are rejected without a unit mask.
std::vector<std::string> event_names(const SystemPaths& paths);

/// An event that perf knows on every machine, under one of its names: `cycles`, `faults`...
struct GenericEvent {
    std::string name;
    std::uint32_t type;
    std::uint64_t config;
    std::string description;
};

/// All of them, including aliases; no duplicate names.
const std::vector<GenericEvent>& generic_events();

/// The event of that name; nullptr if there is none.
const GenericEvent* find_generic_event(std::string_view name);

/// The bits of a field in a PMU's format/: `config1:0-7,32`.
struct FormatField {
    unsigned config = 0;                                ///< 0: config, 1: config1, ...
    std::vector<std::pair<unsigned, unsigned>> ranges;  ///< first and last bit, in order

    /// Number of bits.
    [[nodiscard]] unsigned width() const noexcept;
    /// Spreads the low bits of `value` over the ranges.
    [[nodiscard]] std::uint64_t scatter(std::uint64_t value) const noexcept;
    /// All bits of the field.
    [[nodiscard]] std::uint64_t mask() const noexcept { return scatter(~std::uint64_t{0}); }
};

/// Parses the text of a format file; no value if it is invalid.
std::optional<FormatField> parse_format(std::string_view text);

/// A PMU as sysfs describes it: type, format/ and events/.
class SysfsPmu {
  public:
    /// No value if there is no PMU of that name.
    static std::optional<SysfsPmu> find(const SystemPaths& paths, std::string_view name);
    /// All PMUs, sorted.
    static std::vector<std::string> names(const SystemPaths& paths);
    /// The CPUs that count events of that PMU type; no value if every CPU does.
    static std::optional<CpuList> cpus_of_type(const SystemPaths& paths, std::uint32_t type);

    /// Fills in type, config, CPUs, scale and unit from the text between the slashes. Throws
    /// SpecError, with an offset relative to `offset`.
    void encode(std::string_view terms, std::size_t offset, EventSpec& spec) const;
    /// Names under events/, sorted, without files that only describe an event.
    [[nodiscard]] std::vector<std::string> events() const;
    /// The terms behind an event name, `event=0x3c`; empty if there is no such event.
    [[nodiscard]] std::string definition(const std::string& event) const;

  private:
    struct Term;
    SysfsPmu(std::string name, std::string path, std::uint32_t type)
        : name_(std::move(name)), path_(std::move(path)), type_(type) {}
    static std::vector<Term> split(std::string_view text, std::size_t offset);
    [[nodiscard]] std::optional<CpuList> cpus() const;
    [[nodiscard]] std::vector<Term> expand(std::vector<Term> terms, EventSpec& spec) const;
    [[nodiscard]] FormatField field(const Term& term) const;
    void set(const Term& term, perf_event_attr& attr) const;
    [[noreturn]] void unknown(const Term& term) const;

    std::string name_;
    std::string path_;
    std::uint32_t type_;
};

enum class PfmStatus {
    ok,         ///< the attribute is filled in
    not_found,  ///< not an event of this machine's PMUs
    refused,    ///< libpfm4 has the event, but not these unit masks or modifiers
};

struct PfmResult {
    PfmStatus status = PfmStatus::not_found;
    Diagnosis diagnosis{};  ///< of PfmStatus::refused
};

/// Encodes a libpfm4 event with its unit masks and libpfm4's own modifiers.
PfmResult pfm_encode(std::string_view event, perf_event_attr& attr);

struct PfmEvent {
    std::string pmu;
    std::string name;
    std::string description;
};

/// All events of this machine's PMUs. pfm_encode() rejects some of them without a unit mask.
std::vector<PfmEvent> pfm_events();

/// The event itself and the event with each of its unit masks, as far as pfm_encode() accepts them.
std::vector<PfmEvent> pfm_variants(const PfmEvent& event);

/// The names that exist in several PMUs.
std::set<std::string> shared_names(std::span<const PfmEvent> events);

/// True if tracefs has tracepoints of that system; false if tracefs cannot be searched.
bool is_tracepoint_system(std::string_view system, const SystemPaths& paths);

/// The number of tracepoint `system:name`, for perf_event_attr.config. Throws SpecError at offset 0
/// if tracefs is not mounted or has no such tracepoint, Error if it cannot be read.
std::uint64_t tracepoint_id(std::string_view system, std::string_view name,
                            const SystemPaths& paths);

/// All tracepoints as `system:name`, sorted; none if tracefs cannot be read.
std::vector<std::string> tracepoint_names(const SystemPaths& paths);

}  // namespace metagroup::detail
