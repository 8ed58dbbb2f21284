// SPDX-License-Identifier: MIT
// Children that are somebody else and hold nothing but what they are given.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>

namespace metagroup::test {

enum class Who {
    root,
    bare_root,  // uid 0 without capabilities, now or ever: the bounding set is empty
    monitor,    // nobody, with CAP_PERFMON
    user,       // nobody
    container,  // root of a user namespace, with all capabilities there; nobody outside
};

inline constexpr std::array kEverybody = {Who::root, Who::bare_root, Who::monitor, Who::user,
                                          Who::container};

const char* name(Who who);

// Why the kernel makes nobody that: an errno, or 0.
int refusal(Who who);

namespace detail {
using Question = std::function<void(std::span<const int> given, void* answer)>;
void ask(Who who, std::span<const int> given, const Question& question, void* answer,
         std::size_t size);
}  // namespace detail

// What `question` returns, called with copies of the descriptors in a child that is `who`; they
// came over a Unix socket. Throws if the child did.
template <typename Question>
auto ask(Who who, std::span<const int> given, const Question& question) {
    using Answer = std::invoke_result_t<Question, std::span<const int>>;
    static_assert(std::is_trivially_copyable_v<Answer>, "it goes through a socket");
    Answer answer{};
    detail::ask(
        who, given,
        [&question](std::span<const int> fds, void* out) {
            *static_cast<Answer*>(out) = question(fds);
        },
        &answer, sizeof(answer));
    return answer;
}

}  // namespace metagroup::test
