// SPDX-License-Identifier: MIT
// Any text as a list of CPUs.
#include <algorithm>
#include <bit>
#include <functional>
#include <metagroup/cpu_list.hpp>
#include <metagroup/error.hpp>
#include <string_view>

#include "support/fake_system.hpp"
#include "targets.hpp"

namespace metagroup::fuzz {
namespace {

void hold_rules(const CpuList& list) {
    demand(!list.empty(), "a parsed list has a CPU");
    demand(std::ranges::adjacent_find(list.cpus(), std::greater_equal()) == list.cpus().end(),
           "the CPUs of a list ascend, each once");
    demand(*list.begin() >= 0, "no CPU is negative");
    demand(CpuList::parse(list.to_string()) == list, "a list that was written reads the same");
    demand(list.intersect(list) == list, "a list has itself in common with itself");

    std::size_t bits = 0;
    const auto mask = list.mask();
    for (const std::uint64_t word : mask)
        bits += static_cast<std::size_t>(std::popcount(word));
    demand(bits == list.size(), "a mask has a bit for each CPU");
    for (const int cpu : list) {
        const auto bit = static_cast<std::size_t>(cpu);
        demand((mask[bit / 64] >> bit % 64 & 1) == 1, "a mask has the bits of its CPUs");
        demand(list.contains(cpu), "a list contains its CPUs");
    }
}

}  // namespace

void cpu_list(Bytes input) {
    static const test::FakeSystem system;
    try {
        hold_rules(detail::parse_cpu_list(as_text(input), system.paths));
    } catch (const Error& error) {
        demand(error.cause() == Cause::syntax, "a refused text is a syntax error");
        demand(std::string_view(error.what()).find(", column ") != std::string_view::npos,
               "an error names the place");
    }
}

}  // namespace metagroup::fuzz
