// SPDX-License-Identifier: MIT
// Decodes part of a file field by field, never beyond its end.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <metagroup/error.hpp>
#include <span>
#include <string>
#include <string_view>

#include "format.hpp"

namespace metagroup::detail {

[[noreturn]] inline void refuse_recording(const std::string& file, std::uint64_t offset,
                                          std::string_view reason, std::string remedy = {}) {
    throw Error(Cause::bad_recording, EINVAL,
                {.failed = "cannot read recording \"" + file + '"',
                 .reason = detail::format("offset {:#x}: {}", offset, reason),
                 .remedy = std::move(remedy)});
}

class Fields {
  public:
    /// The bytes at `offset` in the file.
    Fields(const std::string& file, std::uint64_t offset, std::span<const std::byte> bytes)
        : file_(&file), offset_(offset), bytes_(bytes) {}

    [[nodiscard]] std::size_t left() const { return bytes_.size(); }

    std::span<const std::byte> take(std::size_t size) {
        if (size > bytes_.size())
            refuse(detail::format("{} bytes left, {} needed", bytes_.size(), size));
        const auto taken = bytes_.first(size);
        bytes_ = bytes_.subspan(size);
        offset_ += size;
        return taken;
    }
    template <typename Number>
    Number take() {
        Number number{};
        std::memcpy(&number, take(sizeof(number)).data(), sizeof(number));
        return number;
    }
    /// The text up to its NUL.
    std::string take_padded(std::size_t size) {
        const auto bytes = take(size);
        const auto* const text = reinterpret_cast<const char*>(bytes.data());
        return {text, ::strnlen(text, size)};
    }
    std::string take_text() { return take_padded(take<std::uint32_t>()); }

    [[noreturn]] void refuse(std::string_view reason) const {
        refuse_recording(*file_, offset_, reason);
    }

  private:
    const std::string* file_;
    std::uint64_t offset_;
    std::span<const std::byte> bytes_;
};

}  // namespace metagroup::detail
