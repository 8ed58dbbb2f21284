// SPDX-License-Identifier: MIT
// A PMU as sysfs describes it: type, format/ and events/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <metagroup/event_spec.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "file.hpp"

namespace metagroup::detail {

/// Where a field of format/ puts its bits: `config1:0-7,32`.
struct FormatField {
    unsigned config = 0;                                ///< 0: config, 1: config1, …
    std::vector<std::pair<unsigned, unsigned>> ranges;  ///< first and last bit, in order

    /// Number of bits.
    [[nodiscard]] unsigned width() const noexcept;
    /// Spreads the low bits of `value` over the ranges.
    [[nodiscard]] std::uint64_t scatter(std::uint64_t value) const noexcept;
    /// All bits of the field.
    [[nodiscard]] std::uint64_t mask() const noexcept { return scatter(~std::uint64_t{0}); }
};

/// Reads the text of a format file; nothing if it is none.
std::optional<FormatField> parse_format(std::string_view text);

class SysfsPmu {
  public:
    /// Nothing if there is no PMU of that name.
    static std::optional<SysfsPmu> find(const SystemPaths& paths, std::string_view name);
    /// All PMUs, sorted.
    static std::vector<std::string> names(const SystemPaths& paths);
    /// Where events of that PMU type can be counted; nothing if on every CPU.
    static std::optional<CpuList> cpus_of_type(const SystemPaths& paths, std::uint32_t type);

    /// Fills in type, config, CPUs, scale and unit from the text between the slashes.
    /// Throws SpecError, counted from `offset`.
    void encode(std::string_view terms, std::size_t offset, EventSpec& spec) const;
    /// Names under events/, sorted, without the files that only describe one.
    [[nodiscard]] std::vector<std::string> events() const;
    /// What the name of an event stands for: `event=0x3c`. Empty if there is no such event.
    [[nodiscard]] std::string definition(const std::string& event) const;

  private:
    struct Term;
    SysfsPmu(std::string name, std::string path, std::uint32_t type)
        : name_(std::move(name)), path_(std::move(path)), type_(type) {}
    [[nodiscard]] std::optional<CpuList> cpus() const;
    [[nodiscard]] std::vector<Term> expand(std::vector<Term> terms, EventSpec& spec) const;
    void set(const Term& term, perf_event_attr& attr) const;
    [[noreturn]] void unknown(const Term& term) const;

    std::string name_;
    std::string path_;
    std::uint32_t type_;
};

}  // namespace metagroup::detail
