// SPDX-License-Identifier: MIT
#include <metagroup/payload.hpp>
#include <stdexcept>

#include "format.hpp"

namespace metagroup {

void Payload::refuse(std::size_t i) const {
    throw std::out_of_range(detail::format("event {} of a payload of {} events", i, nr_));
}

}  // namespace metagroup
