// SPDX-License-Identifier: MIT
// Disturbances of the machine: CPU hotplug, a PMU with errors, processes.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <system_error>

#include "operations.hpp"
#include "support/cpus.hpp"
#include "support/settings.hpp"

namespace stress {
namespace {

constexpr const char* kCgroups = "/sys/fs/cgroup";

pid_t fork_or_throw() {
    const pid_t child = ::fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    return child;
}

// Kills the child after some time. It does not end before.
bool kill_after(pid_t child, unsigned microseconds) {
    ::usleep(microseconds);
    ::kill(child, SIGKILL);
    int status = 0;
    demand(::waitpid(child, &status, 0) == child, "a child is not there");
    demand(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
           "a child has ended by itself, status " + std::to_string(status));
    return true;
}

// The ring of one CPU; nothing if no stream runs, or another thread uses it.
struct ForeignRing {
    const void* address = nullptr;
    std::size_t size = 0;
    off_t offset = 0;
};

ForeignRing ring_of(const Slot& slot) {
    if (!slot.stream || slot.stream->running().rings().empty()) return {};
    const auto& [cpu, ring] = *slot.stream->running().rings().begin();
    const auto& arg = slot.stream->running().arg();
    return {&ring.page(), arg.map_stride,
            static_cast<off_t>(arg.map_offset + static_cast<unsigned>(cpu) * arg.map_stride)};
}

// By a child: the parent's mapping is not there, and one of its own can be read.
void use_ring(int fd, const ForeignRing& ring) {
    unsigned char there = 0;
    if (!ring.address) return;
    if (::mincore(const_cast<void*>(ring.address), 4096, &there) == 0 || errno != ENOMEM)
        ::_exit(1);
    void* const at =
        ::mmap(nullptr, ring.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, ring.offset);
    if (at == MAP_FAILED) return;  // the parent has stopped the stream
    for (std::size_t i = 0; i < ring.size; i += 64)
        (void)*(static_cast<volatile const char*>(at) + i);
    ::munmap(at, ring.size);
}

// The child shares the handle, and is killed while it sweeps, reads or maps. It makes bare system
// calls only, as another thread may have held a lock of the C library at the fork.
bool fork_and_read(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    const unsigned patience = random.below(4000);
    std::unique_lock lock(slot->streaming, std::try_to_lock);
    const ForeignRing ring = lock ? ring_of(*slot) : ForeignRing{};
    const pid_t child = fork_or_throw();
    if (child) {
        if (lock) lock.unlock();
        return kill_after(child, patience);
    }
    use_ring(slot->meta.fd(), ring);
    for (;;) {
        slot->meta.read(worker.buffer.data(), worker.buffer.size());
        slot->meta.sweep();
        void* const at = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, slot->meta.fd(), 0);
        if (at != MAP_FAILED) ::munmap(at, 4096);
    }
}

// The handle is inherited by another program.
bool fork_and_exec(Worker& worker, Random& random) {
    const auto slot = worker.any_slot(random);
    const unsigned patience = 1000 + random.below(10'000);
    const pid_t child = fork_or_throw();
    if (child) return kill_after(child, patience);
    ::fcntl(slot->meta.fd(), F_SETFD, 0);
    ::execl("/bin/sleep", "sleep", "1000", nullptr);
    ::_exit(127);
}

}  // namespace

std::span<const Operation> fork_operations() {
    static constexpr Operation all[] = {
        {"fork", 2, fork_and_read},
        {"exec", 2, fork_and_exec},
    };
    return all;
}

MovedProcess::MovedProcess() {
    for (const char* name : {"metagroup_stress_a", "metagroup_stress_b"}) {
        paths_.push_back(std::string(kCgroups) + "/" + name);
        if (::mkdir(paths_.back().c_str(), 0755) && errno != EEXIST)
            throw std::system_error(errno, std::generic_category(), paths_.back());
    }
    process_ = fork_or_throw();
    if (process_) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        burn_ms(1);
        ::usleep(2000);
    }
}

MovedProcess::~MovedProcess() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    for (const std::string& path : paths_)
        ::rmdir(path.c_str());
}

std::vector<Fd> MovedProcess::cgroups() const {
    std::vector<Fd> cgroups;
    for (const std::string& path : paths_)
        cgroups.emplace_back(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, 0);
    const Fd trial(static_cast<int>(::syscall(SYS_perf_event_open, &attr, cgroups[0].get(), 0, -1,
                                              PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC)));
    if (trial) return cgroups;
    std::printf("skipped: no cgroup events: %s\n", std::strerror(errno));
    return {};
}

void MovedProcess::move(Random& random) const {
    std::ofstream file((random.one_in(3) ? kCgroups : random.pick(paths_)) + "/cgroup.procs");
    file << process_ << std::flush;
    demand(bool(file), "a process cannot be moved to another cgroup");
}

bool replug_cpu(World& world, Random& random) {
    if (world.cpus.size() < 2) return false;
    const int cpu = world.cpus[1 + random.below(world.cpus.size() - 1)];
    const unsigned away = random.below(100'000), back = random.below(2'000'000);
    {
        const std::scoped_lock lock(world.plugging);
        if (!set_online(cpu, false)) return false;
        ++world.plugs;
    }
    ::usleep(away);
    demand(set_online(cpu, true), "a CPU does not come back");
    ::usleep(back);
    return true;
}

namespace {

bool unregister_pmu(World& world, unsigned duration) {
    if (!kernel_revokes_events()) return false;
    {
        const std::scoped_lock lock(world.plugging);
        testpmu_set_registered(false);
    }
    ::usleep(duration);
    testpmu_set_registered(true);
    return true;
}

}  // namespace

bool disturb_pmu(World& world, Random& random) {
    const unsigned kind = random.below(5);
    const unsigned duration = 1000 + random.below(20'000);
    bool done = true;
    if (kind == 0) {
        testpmu_set_read_error(EIO);
        ::usleep(duration / 10);
        testpmu_set_read_error(0);
        testpmu_set_read_failures(1 + random.below(8));
        ::usleep(duration / 10);
        testpmu_set_read_failures(0);
    } else if (kind == 1) {
        try {
            testpmu_move(random.pick(world.cpus), random.pick(world.cpus));
        } catch (const std::runtime_error&) {  // offline, or the same
            done = false;
        }
    } else if (kind == 2) {
        done = unregister_pmu(world, duration);
    } else {
        testpmu_set_counters(random.below(5));
    }
    ::usleep(duration);
    return done;
}

bool throttle_streams(Random& random) {
    static constexpr int kPercent[] = {1, 10, 50};
    const MaxStreamPercent limit(random.pick(kPercent));
    ::usleep(random.below(1'000'000));
    return true;
}

bool move_process(const MovedProcess& process, Random& random) {
    process.move(random);
    ::usleep(1000 + random.below(5000));
    return true;
}

}  // namespace stress
