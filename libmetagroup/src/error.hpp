// SPDX-License-Identifier: MIT
// How this library fails: texts that name what, where and the remedy.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace metagroup::detail {

/// Throws std::system_error with that errno; its text begins with `what`.
[[noreturn]] void throw_errno(int error, const std::string& what);

/// An error at some byte of a word that is part of a longer text. Whoever knows the whole text
/// turns it into the error that the user sees.
class SpecError : public std::runtime_error {
  public:
    SpecError(std::size_t offset, const std::string& message)
        : std::runtime_error(message), offset_(offset) {}
    [[nodiscard]] std::size_t offset() const noexcept { return offset_; }

  private:
    std::size_t offset_;
};

/// Throws std::invalid_argument: `kind "text", column N: message`.
[[noreturn]] void throw_parse_error(std::string_view kind, std::string_view text,
                                    std::size_t offset, std::string_view message);

}  // namespace metagroup::detail
