// SPDX-License-Identifier: MIT
/// \file
/// Error: what failed, why, and what to do about it.
#pragma once

#include <memory>
#include <metagroup/export.hpp>
#include <string>
#include <system_error>

namespace metagroup {

/// What the system refused: thrown where an event, the device or a meta-group is opened. what() is
/// all parts in one line; each is there for who shows them apart. Copies share the texts.
class METAGROUP_API Error : public std::system_error {
  public:
    /// The parts; none ends with punctuation. `why` and `remedy` may be empty.
    struct Parts {
        std::string failed;  ///< `cannot open event "cycles" on CPU 3`
        std::string why;     ///< `no PMU here knows the event`
        std::string remedy;  ///< `see "metagroup list" for what there is`
    };

    /// Of an errno.
    Error(int error, Parts parts);

    [[nodiscard]] const Parts& parts() const noexcept { return *parts_; }

  private:
    std::shared_ptr<const Parts> parts_;
};

/// `failed: why; remedy`, without what is empty.
METAGROUP_API std::string to_string(const Error::Parts& parts);

}  // namespace metagroup
