// SPDX-License-Identifier: MIT
/// \file
/// Not part of the API: the owner of a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace metagroup::detail {

/// Owns one file descriptor and closes it. Move-only.
class UniqueFd {
  public:
    UniqueFd() noexcept = default;
    /// Takes over `fd`; -1 means "none".
    explicit UniqueFd(int fd) noexcept : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;
    ~UniqueFd() { reset(); }

    /// The descriptor, or -1.
    [[nodiscard]] int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    /// Closes the descriptor, if there is one.
    void reset() noexcept {
        // Linux frees the descriptor even if close(2) reports an error: never try again.
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }

  private:
    int fd_ = -1;
};

}  // namespace metagroup::detail
