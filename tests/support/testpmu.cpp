// SPDX-License-Identifier: MIT
#include "testpmu.hpp"

#include <sys/utsname.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "perf.hpp"

namespace metagroup::test {
namespace {

const std::string kTestpmuParameters = "/sys/module/metagroup_testpmu/parameters/";

void set_testpmu(const char* parameter, const std::string& value) {
    std::ofstream file(kTestpmuParameters + parameter);
    file << value << std::flush;
    if (!file) throw std::runtime_error(std::string("metagroup_testpmu refuses ") + parameter);
}

}  // namespace

std::optional<perf_event_attr> testpmu_event(std::uint64_t read_format) {
    return pmu_event("metagroup_test", 0, read_format);
}

std::optional<perf_event_attr> testpmu_core_event(std::uint64_t read_format) {
    return pmu_event("metagroup_core", 0, read_format);
}

std::optional<perf_event_attr> testpmu_scope_event(std::uint64_t read_format) {
    return pmu_event("metagroup_scope", 0, read_format);
}

void testpmu_set_counters(unsigned counters) {
    set_testpmu("counters", std::to_string(counters));
}

bool testpmu_idle_is_probed() {
    std::ifstream file(kTestpmuParameters + "idle_probed");
    bool probed = false;
    if (!(file >> probed)) throw std::runtime_error("metagroup_testpmu has no idle_probed");
    return probed;
}

void testpmu_set_update_time(unsigned microseconds) {
    set_testpmu("update_us", std::to_string(microseconds));
}

TestpmuGuest::TestpmuGuest(int cpu) : cpu_(cpu) {
    set_testpmu("guest", std::to_string(cpu_) + " 1");
}

TestpmuGuest::~TestpmuGuest() {
    set_testpmu("guest", std::to_string(cpu_) + " 0");
}

bool TestpmuGuest::available() {
    return std::filesystem::exists(kTestpmuParameters + "guest");
}

void testpmu_set_read_error(int error) {
    set_testpmu("read_error", std::to_string(error));
}

void testpmu_set_read_failures(unsigned one_in) {
    set_testpmu("read_failures", std::to_string(one_in));
}

void testpmu_set_backwards(bool backwards) {
    set_testpmu("backwards", backwards ? "1" : "0");
}

void testpmu_move(int from, int to) {
    set_testpmu("move", std::to_string(from) + " " + std::to_string(to));
}

bool kernel_revokes_events() {
    utsname system{};
    ::uname(&system);
    int major = 0, minor = 0;
    if (std::sscanf(system.release, "%d.%d", &major, &minor) != 2)
        throw std::runtime_error(system.release);
    return major > 6 || (major == 6 && minor >= 15);
}

void testpmu_set_registered(bool registered) {
    set_testpmu("registered", registered ? "1" : "0");
}

}  // namespace metagroup::test
