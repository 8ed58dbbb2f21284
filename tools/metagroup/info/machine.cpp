// SPDX-License-Identifier: MIT
// Kernel and CPUs.
#include <sys/utsname.h>

#include <metagroup/cpu_list.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "info/facts.hpp"
#include "places.hpp"

namespace tool {
namespace {

// The value of the first line `name : value` of /proc/cpuinfo.
Json cpuinfo(const std::string& text, const std::string& name) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(':');
        if (colon == line.npos ||
            line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1) != name)
            continue;
        return line.size() > colon + 2 ? line.substr(colon + 2) : "";
    }
    return nullptr;
}

Json in_virtual_machine(const Json& flags) {
    if (flags.is_null()) return nullptr;
    return (flags.get<std::string>() + ' ').find("hypervisor ") != std::string::npos;
}

Json places(const System& system, By by) {
    try {
        const auto online = system.read("sys/devices/system/cpu/online");
        if (!online) return nullptr;
        return Places(by, metagroup::CpuList::parse(*online), system.path("sys/devices/system"))
            .all()
            .size();
    } catch (const std::exception&) {
        return nullptr;
    }
}

// A list of CPUs as sysfs has it; older kernels say "(null)" for none.
Json cpus(const System& system, const std::string& file) {
    Json list = system.text("sys/devices/system/cpu/" + file);
    if (list == "(null)") list = "";
    return list;
}

}  // namespace

Json kernel_facts(const System& system) {
    utsname name{};
    ::uname(&name);
    const std::string info = system.read("proc/cpuinfo").value_or("");
    return {{"release", name.release},
            {"version", name.version},
            {"architecture", name.machine},
            {"cpu-model", cpuinfo(info, "model name")},
            {"virtual-machine", in_virtual_machine(cpuinfo(info, "flags"))}};
}

Json cpu_facts(const System& system) {
    return {{"possible", cpus(system, "possible")},  {"present", cpus(system, "present")},
            {"online", cpus(system, "online")},      {"offline", cpus(system, "offline")},
            {"cores", places(system, By::core)},     {"sockets", places(system, By::socket)},
            {"nodes", places(system, By::node)},     {"isolated", cpus(system, "isolated")},
            {"nohz-full", cpus(system, "nohz_full")}};
}

}  // namespace tool
