// SPDX-License-Identifier: MIT
#include "testpmu.hpp"

#include <fstream>
#include <stdexcept>
#include <string>

namespace metagroup::test {
namespace {

void set(const char* parameter, const std::string& value) {
    std::ofstream file(std::string("/sys/module/metagroup_testpmu/parameters/") + parameter);
    file << value << std::flush;
    if (!file) throw std::runtime_error(std::string("metagroup_testpmu refuses ") + parameter);
}

}  // namespace

std::optional<perf_event_attr> testpmu_event(std::uint64_t read_format) {
    std::ifstream file("/sys/bus/event_source/devices/metagroup_test/type");
    perf_event_attr attr{};
    if (!(file >> attr.type)) return {};
    attr.size = sizeof(attr);
    attr.read_format = read_format;
    return attr;
}

void testpmu_set_counters(unsigned counters) {
    set("counters", std::to_string(counters));
}

void testpmu_set_read_error(int error) {
    set("read_error", std::to_string(error));
}

void testpmu_move(int from, int to) {
    set("move", std::to_string(from) + " " + std::to_string(to));
}

void testpmu_set_registered(bool registered) {
    set("registered", registered ? "1" : "0");
}

}  // namespace metagroup::test
