// SPDX-License-Identifier: MIT
// What the kernel allocates, counted by its own tracepoints.
#include <catch2/catch_test_macros.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "support/cpus.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"

using namespace metagroup::test;

namespace {

// Counts a tracepoint in the calling thread.
class Tracepoint {
  public:
    explicit Tracepoint(const std::string& name) {
        perf_event_attr attr{};
        std::ifstream id("/sys/kernel/tracing/events/" + name + "/id");
        if (!(id >> attr.config)) SKIP("no tracepoint " << name);
        attr.size = sizeof(attr);
        attr.type = PERF_TYPE_TRACEPOINT;
        fd_.reset(open_event(attr, 0, -1, -1));
        REQUIRE(fd_);
    }
    std::uint64_t count() const {
        std::uint64_t value = 0;
        REQUIRE(::read(fd_.get(), &value, sizeof(value)) == sizeof(value));
        return value;
    }

  private:
    Fd fd_;
};

}  // namespace

TEST_CASE("A read allocates nothing in the kernel, which a read per CPU does") {
    const auto groups = open_everywhere(kTimes | PERF_FORMAT_GROUP, 4);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    std::array<char, 64 * 1024> buffer;
    const Tracepoint slab("kmem/kmalloc"), cache("kmem/kmem_cache_alloc"),
        page("kmem/mm_page_alloc");
    const auto allocations = [&] { return slab.count() + cache.count() + page.count(); };

    for (const unsigned format :
         std::initializer_list<unsigned>{PERF_METAGROUP_FORMAT_RAW, PERF_METAGROUP_FORMAT_FRAMED}) {
        REQUIRE(meta.set_format(format) == 0);
        REQUIRE(meta.read(buffer.data(), buffer.size()) > 0);
        const auto before = allocations();
        const auto counting = allocations() - before;  // what counting itself allocates
        const auto start = allocations();
        for (int round = 0; round < 100; ++round)
            meta.read(buffer.data(), buffer.size());
        REQUIRE(allocations() - start <= counting);
    }

    // The counting sees allocations at all.
    const auto start = allocations();
    for (const auto& group : groups)
        REQUIRE(::read(group.leader(), buffer.data(), buffer.size()) > 0);
    REQUIRE(allocations() - start >= groups.size());
}
