// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <metagroup/detail/unique_fd.hpp>

namespace metagroup::detail {

void UniqueFd::reset() noexcept {
    // Linux frees the descriptor even if close(2) reports an error: never try again.
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

}  // namespace metagroup::detail
