// SPDX-License-Identifier: MIT
// OPEN_SET by bare system calls.
#pragma once

#include <linux/perf_metagroup.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "meta.hpp"
#include "perf.hpp"

namespace metagroup::test {

inline constexpr std::uint64_t kSetFormat = PERF_FORMAT_GROUP | kTimes | PERF_FORMAT_ID;

// An argument of OPEN_SET that opens `attrs` on `cpus`; on all that are online if there are none.
// Keeps what it points to.
struct SetRequest {
    std::vector<perf_event_attr> attrs;
    std::vector<int> templates;
    std::vector<__u64> cpus;
    perf_metagroup_open_set arg{};

    explicit SetRequest(std::vector<perf_event_attr> events, const std::vector<int>& on = {})
        : attrs(std::move(events)), cpus(on.empty() ? std::vector<__u64>{} : cpu_words(on)) {
        start(attrs.data(), attrs.size());
        arg.stride = sizeof(perf_event_attr);
    }
    explicit SetRequest(std::vector<int> fds, const std::vector<int>& on = {})
        : templates(std::move(fds)), cpus(on.empty() ? std::vector<__u64>{} : cpu_words(on)) {
        start(templates.data(), templates.size());
        arg.flags = PERF_METAGROUP_SET_TEMPLATES;
    }
    SetRequest(const SetRequest&) = delete;
    SetRequest& operator=(const SetRequest&) = delete;

    long open(const Meta& meta) { return meta.ioctl(PERF_METAGROUP_IOC_OPEN_SET, &arg); }

  private:
    template <typename T>
    void start(T* events, std::size_t count) {
        arg.size = sizeof(arg);
        arg.events = reinterpret_cast<std::uintptr_t>(events);
        arg.nr_events = static_cast<__u32>(count);
        arg.cpus = cpus.empty() ? 0 : reinterpret_cast<std::uintptr_t>(cpus.data());
        arg.nr_words = static_cast<__u32>(cpus.size());
        arg.read_format = kSetFormat;
    }
};

inline long open_set(const Meta& meta, std::vector<perf_event_attr> events,
                     const std::vector<int>& on = {}) {
    return SetRequest(std::move(events), on).open(meta);
}

// Events that need a counter each: config1 does not matter to their PMU, but they are not the same.
inline std::vector<perf_event_attr> distinct(std::size_t count, perf_event_attr attr) {
    std::vector<perf_event_attr> attrs;
    for (; attrs.size() < count; ++attr.config1)
        attrs.push_back(attr);
    return attrs;
}

// How often the events were opened again.
inline unsigned generation(const Frame& frame) {
    perf_metagroup_set_record record{};
    std::memcpy(&record, frame.header.data(), std::min(frame.header.size(), sizeof(record)));
    return record.generation;
}

// Opens a set that follows CPU hotplug.
inline long open_following(const Meta& meta, const std::vector<perf_event_attr>& attrs) {
    SetRequest request(attrs);
    request.arg.flags = PERF_METAGROUP_SET_FOLLOW;
    return request.open(meta);
}

// A payload with kSetFormat.
struct SetPayload {
    std::uint64_t events = 0, enabled = 0, running = 0;
    std::vector<std::uint64_t> counts, ids;

    explicit SetPayload(const Bytes& bytes) {
        const auto all = words(bytes);
        events = all.at(0);
        enabled = all.at(1);
        running = all.at(2);
        for (std::size_t i = 3; i + 1 < all.size(); i += 2) {
            counts.push_back(all[i]);
            ids.push_back(all[i + 1]);
        }
    }
};

}  // namespace metagroup::test
