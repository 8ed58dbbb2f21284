// SPDX-License-Identifier: MIT
// The PMUs of tests/testpmu, and their controls.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>

namespace metagroup::test {

// Nothing where that module is not loaded. metagroup_test counts
// nanoseconds, in idle too, and has few counters, refusals and moves on demand. metagroup_core
// counts the nanoseconds in which its CPU is busy.
std::optional<perf_event_attr> testpmu_event(std::uint64_t read_format);
std::optional<perf_event_attr> testpmu_core_event(std::uint64_t read_format);
std::optional<perf_event_attr> testpmu_scope_event(std::uint64_t read_format);

// perf_event_attr.config of metagroup_test: any CPU of the package may read the event.
inline constexpr std::uint64_t kTestpmuPackage = 1;
// It counts on CPU 0, whichever it is opened for.
inline constexpr std::uint64_t kTestpmuFirstCpu = 2;
// Of metagroup_core: interrupts of an idle CPU count.
inline constexpr std::uint64_t kTestpmuInterrupts = 1;

void testpmu_set_counters(unsigned counters);
// The number of counters of each CPU; at the end 4 again, the default.
struct TestpmuCounters {
    explicit TestpmuCounters(unsigned counters) { testpmu_set_counters(counters); }
    ~TestpmuCounters() { testpmu_set_counters(4); }
    TestpmuCounters(const TestpmuCounters&) = delete;
    TestpmuCounters& operator=(const TestpmuCounters&) = delete;
};

// The tracepoint cpu_idle has a probe.
bool testpmu_idle_is_probed();

void testpmu_set_read_error(int error);
// On average, one in this many reads of a group fails with EIO; 0: none.
void testpmu_set_read_failures(unsigned one_in);
// Its counts decrease.
void testpmu_set_backwards(bool backwards);
void testpmu_set_update_time(unsigned microseconds);
// The time that metagroup_core takes to update a count; at the end 0 again, the default.
struct TestpmuUpdateTime {
    explicit TestpmuUpdateTime(unsigned microseconds) { testpmu_set_update_time(microseconds); }
    ~TestpmuUpdateTime() { testpmu_set_update_time(0); }
    TestpmuUpdateTime(const TestpmuUpdateTime&) = delete;
    TestpmuUpdateTime& operator=(const TestpmuUpdateTime&) = delete;
};
void testpmu_move(int from, int to);
// While this lives, the counters of metagroup_core on a CPU are those of a virtual machine, so
// events that exclude guests do not count there.
class TestpmuGuest {
  public:
    explicit TestpmuGuest(int cpu);
    ~TestpmuGuest();
    TestpmuGuest(const TestpmuGuest&) = delete;
    TestpmuGuest& operator=(const TestpmuGuest&) = delete;
    static bool available();  // Linux 7.0, and on x86

  private:
    int cpu_;
};
// Unregistering under live events is for kernels that revoke them: 6.15 and later.
bool kernel_revokes_events();
void testpmu_set_registered(bool registered);

}  // namespace metagroup::test
