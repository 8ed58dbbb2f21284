// SPDX-License-Identifier: MIT
// The device as a file: operations, lifetime, fdinfo and tracepoints.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <sstream>

#include "fixtures.hpp"
#include "measure/measure.hpp"

using namespace metagroup::test;

namespace {

template <typename Body>
void in_three_threads(const Body& body) {
    std::jthread one(body), two(body), three(body);
}

}  // namespace

TEST_CASE("The device is a character device that only root can access") {
    struct stat status {};
    REQUIRE(::stat(PERF_METAGROUP_DEVICE, &status) == 0);
    REQUIRE(S_ISCHR(status.st_mode));
    REQUIRE((status.st_mode & 0777) == 0600);
    REQUIRE(status.st_uid == 0);
}

TEST_CASE("The file has no position") {
    const auto [group, meta] = attached(open_group(0, 0, 1));
    char buffer[64];
    REQUIRE(error_of(::lseek(meta.fd(), 0, SEEK_SET)) == ESPIPE);
    REQUIRE(error_of(::lseek(meta.fd(), 0, SEEK_CUR)) == ESPIPE);
    REQUIRE(error_of(::pread(meta.fd(), buffer, sizeof(buffer), 0)) == ESPIPE);
    REQUIRE(error_of(::pread(meta.fd(), buffer, sizeof(buffer), 8)) == ESPIPE);
    REQUIRE(meta.read(buffer, sizeof(buffer)) == 8);
}

TEST_CASE("The file can be neither written nor spliced") {
    const Meta meta;
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    REQUIRE(error_of(::write(meta.fd(), "x", 1)) == EINVAL);
    REQUIRE(error_of(::splice(meta.fd(), nullptr, pipe[1], nullptr, 64, 0)) == EINVAL);
    ::close(pipe[0]);
    ::close(pipe[1]);
}

TEST_CASE("readv reads each buffer separately, and each must hold the whole snapshot") {
    const auto [group, meta] = attached(open_group(0, 0, 1, true));
    std::array<char, 8> first{}, second{};
    const std::array<iovec, 2> both{{{first.data(), 8}, {second.data(), 8}}};
    REQUIRE(::readv(meta.fd(), both.data(), 2) == 16);
    const std::array<iovec, 2> halves{{{first.data(), 4}, {second.data(), 4}}};
    REQUIRE(error_of(::readv(meta.fd(), halves.data(), 2)) == ENOSPC);
}

TEST_CASE("A handle opened for writing only cannot be read") {
    const Fd handle(::open(PERF_METAGROUP_DEVICE, O_WRONLY));
    char byte = 0;
    REQUIRE(error_of(::read(handle.get(), &byte, 1)) == EBADF);
}

TEST_CASE("A forked child shares the handle") {
    const EventGroup group = open_group(0, 0, 1, true);
    const Meta meta;
    const int status = in_child([&] {
        if (meta.attach(group)) return 1;
        return meta.read().size() == 8 ? 0 : 2;
    });
    REQUIRE(status == 0);
    REQUIRE(meta.info().members == 1);
    REQUIRE(meta.read() == group.read());
}

TEST_CASE("A handle that is passed to another process works there, without the perf descriptors") {
    std::array<int, 2> sockets{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets.data()) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto given = receive_fds(sockets[1]);
        std::array<char, 64> buffer{};
        ::_exit(::read(given.at(0).get(), buffer.data(), buffer.size()) == 8 ? 0 : 2);
    }
    {
        const Meta meta;
        REQUIRE(meta.attach(open_group(0, 0, 1)) == 0);
        const int fd = meta.fd();
        send_fds(sockets[0], std::span(&fd, 1));
    }
    REQUIRE(exit_status(child) == 0);
    ::close(sockets[0]);
    ::close(sockets[1]);
}

TEST_CASE("A process that is killed in the middle of reads leaves nothing behind") {
    const EventGroup group = open_group(0, 0, 4);
    for (int round = 0; round < 20; ++round) {
        std::array<int, 2> pipe{};
        REQUIRE(::pipe(pipe.data()) == 0);
        const pid_t child = ::fork();
        if (child == 0) {
            const Meta meta;
            if (meta.attach(group)) ::_exit(1);
            std::array<char, 4096> buffer;
            for (bool ready = false;;) {
                if (meta.read(buffer.data(), buffer.size()) < 0) ::_exit(2);
                if (!ready) ready = ::write(pipe[1], "x", 1) == 1;
            }
        }
        ::close(pipe[1]);
        char byte = 0;
        REQUIRE(::read(pipe[0], &byte, 1) == 1);
        ::close(pipe[0]);
        ::usleep(static_cast<useconds_t>(500 * round));
        REQUIRE(::kill(child, SIGKILL) == 0);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WIFSIGNALED(status));
        const Meta meta(group);
        REQUIRE(meta.read().size() == 8);
    }
}

TEST_CASE("A signal ends the wait for the sweep of another thread") {
    // The other reader waits in a page fault that is not served.
    if (!SlowPage::available()) SKIP("this kernel has no userfaultfd");
    SlowPage page;
    const auto [group, meta] = attached(open_group(0, 0, 1, true));
    std::thread stuck([&] { meta.read(page.at(), SlowPage::kSize); });
    const bool waits = page.touched(std::chrono::minutes(1));

    struct sigaction action {};
    action.sa_handler = [](int) {};
    REQUIRE(::sigaction(SIGALRM, &action, nullptr) == 0);
    ::ualarm(50'000, 50'000);
    char buffer[64];
    const long got = meta.read(buffer, sizeof(buffer));
    perf_metagroup_info info{};
    info.size = sizeof(info);
    const long info_result = meta.ioctl(PERF_METAGROUP_IOC_INFO, &info);
    const long detached = meta.detach(0);
    const long attached = meta.attach(open_group(0, 0, 1));
    const long enabled = meta.control(PERF_METAGROUP_IOC_ENABLE);
    const std::string shown = fdinfo(meta);
    ::ualarm(0, 0);

    // The other reader ends before anything can throw.
    page.serve();
    stuck.join();

    REQUIRE(waits);
    REQUIRE(got == -EINTR);
    REQUIRE(info_result == -EINTR);
    REQUIRE(detached == -EINTR);
    REQUIRE(attached == -EINTR);
    REQUIRE(enabled == -EINTR);
    REQUIRE(shown.find("members:") == std::string::npos);
    REQUIRE(meta.info().members == 1);
}

TEST_CASE("The module cannot be unloaded while a handle is open") {
    const Meta meta;
    REQUIRE(error_of(::syscall(SYS_delete_module, "perf_metagroup", O_NONBLOCK)) == EAGAIN);
}

TEST_CASE("Several readers of one handle each get whole snapshots") {
    const auto [groups, meta] = attached(open_everywhere(kTimed, 3));
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    std::atomic<int> bad = 0;
    const auto reader = [&] {
        Bytes buffer(meta.info().framed_size);
        std::uint64_t last = 0;
        for (int round = 0; round < 300; ++round) {
            if (meta.read(buffer.data(), buffer.size()) != long(buffer.size())) ++bad;
            const auto sequence = take_apart(buffer).head.sequence;
            if (sequence <= last) ++bad;
            last = sequence;
        }
    };
    in_three_threads(reader);
    REQUIRE(bad == 0);
    REQUIRE(read_framed(meta).head.sequence == 901);
}

TEST_CASE("Several meta-groups on the same CPUs are read at the same time") {
    std::atomic<int> bad = 0;
    const auto reader = [&] {
        const auto groups = open_everywhere(PERF_FORMAT_GROUP, 2);
        const Meta meta;
        if (meta.attach(groups)) ++bad;
        for (int round = 0; round < 300; ++round)
            if (meta.read().size() != groups.size() * 24) ++bad;
    };
    in_three_threads(reader);
    REQUIRE(bad == 0);
}

TEST_CASE("fdinfo lists the members and counts the sweeps") {
    const auto [groups, meta] = attached(open_everywhere(0, 2));
    groups[0].control(PERF_EVENT_IOC_DISABLE);
    for (int i = 0; i < 5; ++i)
        meta.read();
    const std::string text = fdinfo(meta);
    CAPTURE(text);
    REQUIRE(text.find("format:\traw\n") != std::string::npos);
    REQUIRE(text.find("sweeps:\t5\n") != std::string::npos);
    REQUIRE(text.find("members:\t" + std::to_string(groups.size()) + "\n") != std::string::npos);
    REQUIRE(text.find("member:\t0 cpu 0 events 2 status off\n") != std::string::npos);
    REQUIRE(text.find("member:\t1 cpu 1 events 2 status ok\n") != std::string::npos);

    const auto number = [&](const std::string& name) {
        return std::stoull(text.substr(text.find(name + ":\t") + name.size() + 2));
    };
    REQUIRE(number("sweep_last_ns") > 0);
    REQUIRE(number("sweep_last_ns") <= number("sweep_max_ns"));
    REQUIRE(number("sweep_max_ns") <= number("sweep_total_ns"));
}

TEST_CASE_METHOD(NeedsQuiet, "fdinfo names the mode") {
    unsigned mode = 0;
    const Meta meta;
    for (const std::string name : {"normal", "quiet", "skip-isolated", "quiet skip-isolated"}) {
        REQUIRE(meta.set_mode(mode++) == 0);
        REQUIRE(fdinfo(meta).find("mode:\t" + name + "\n") != std::string::npos);
    }
}

TEST_CASE("The tracepoints of a sweep show its members and the CPUs interrupted") {
    const std::string events = "/sys/kernel/tracing/events/perf_metagroup/";
    if (!std::ifstream(events + "enable")) SKIP("tracefs is not mounted, or has no events");
    const auto groups = open_everywhere(0, 1);
    groups.back().control(PERF_EVENT_IOC_DISABLE);
    const Meta meta(groups);
    meta.read();  // the last CPU has nothing running from now on
    std::ofstream("/sys/kernel/tracing/trace") << "\n";
    std::ofstream(events + "enable") << "1" << std::flush;
    meta.read();
    std::ofstream(events + "enable") << "0" << std::flush;

    std::ifstream trace("/sys/kernel/tracing/trace");
    std::ostringstream text;
    text << trace.rdbuf();
    CAPTURE(text.str());
    const std::string cpus = std::to_string(groups.size());
    REQUIRE(text.str().find("perf_metagroup_sweep_begin:") != std::string::npos);
    REQUIRE(text.str().find("members=" + cpus + " cpus=" + cpus) != std::string::npos);
    const std::string running = std::to_string(groups.size() - 1);
    REQUIRE(text.str().find("cpus_interrupted=" + running + " duration_ns=") != std::string::npos);
}

TEST_CASE("A sweep interrupts each CPU with a running member once, and no other") {
    const auto groups = open_everywhere(kTimed, 4);
    const unsigned sweeps = 300;
    const Meta meta(groups);
    const OnFirstCpu here;
    std::array<char, 16384> buffer;
    const auto count = [&] {
        const auto before = measure::interprocessor_interrupts();
        for (unsigned i = 0; i < sweeps; ++i)
            meta.read(buffer.data(), buffer.size());
        return static_cast<double>(measure::interprocessor_interrupts() - before) / sweeps;
    };
    const double running = [&] {
        // An idle CPU that polls for work needs no interrupt.
        std::deque<BusyCpu> busy;
        for (std::size_t member = 1; member < groups.size(); ++member)
            busy.emplace_back(online_cpus().at(member));
        return count();
    }();
    meta.control(PERF_METAGROUP_IOC_DISABLE);
    meta.read();
    const double stopped = count();
    // The reader's own CPU needs no interrupt; a few come from elsewhere.
    CAPTURE(running, stopped);
    REQUIRE(running <= static_cast<double>(groups.size() - 1) * 1.05 + 0.05);
    REQUIRE(running >= static_cast<double>(groups.size() - 1) * 0.9);
    REQUIRE(stopped < 0.1);
}
