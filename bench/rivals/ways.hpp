// SPDX-License-Identifier: MIT
// All ways by name.
#pragma once

#include <memory>
#include <metagroup/cpu_list.hpp>
#include <metagroup/event_spec.hpp>
#include <span>
#include <string>
#include <vector>

#include "rivals/rival.hpp"
#include "rivals/subject.hpp"

namespace bench {

struct Way {
    const char* name;
    const char* summary;
    std::unique_ptr<Rival> (*make)(Subject&);
};

// In the order in which they are best understood.
std::span<const Way> all_ways();

std::unique_ptr<Rival> make_null_syscall(Subject&);
std::unique_ptr<Rival> make_per_fd(Subject&);
std::unique_ptr<Rival> make_migrating(Subject&);
std::unique_ptr<Rival> make_threads(Subject&);
std::unique_ptr<Rival> make_io_uring(Subject&);
std::unique_ptr<Rival> make_sampling(Subject&);
std::unique_ptr<Rival> make_bpf(Subject&);
std::unique_ptr<Rival> make_raw(Subject&);
std::unique_ptr<Rival> make_framed(Subject&);
std::unique_ptr<Rival> make_mapped(Subject&);
std::unique_ptr<Rival> make_quiet(Subject&);
std::unique_ptr<Rival> make_floor(Subject&);
std::unique_ptr<Rival> make_attach(Subject&);

}  // namespace bench
