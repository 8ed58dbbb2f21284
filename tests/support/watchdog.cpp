// SPDX-License-Identifier: MIT
// A test case that does not end aborts its program after a time, and Catch2 reports which it was.
// In a guest nothing else would, until the guest itself is ended. METAGROUP_TEST_LOG is a file that
// gets the name of each test case as it begins: with the kernel's log, also a kernel that hangs or
// complains shows which test case did it.
#include <signal.h>
#include <time.h>

#include <catch2/catch_test_case_info.hpp>
#include <catch2/interfaces/catch_interfaces_reporter.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace {

constexpr time_t kSeconds = 600;

class Watchdog : public Catch::EventListenerBase {
  public:
    explicit Watchdog(const Catch::IConfig* config) : EventListenerBase(config) {
        sigevent event{};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGABRT;
        if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0)
            throw std::system_error(errno, std::generic_category(), "timer_create");
        if (const char* file = std::getenv("METAGROUP_TEST_LOG")) log_.open(file);
    }
    ~Watchdog() override { ::timer_delete(timer_); }

    void testCaseStarting(const Catch::TestCaseInfo& test) override {
        log_ << "test case: " << test.name << std::endl;  // the kernel's log takes a line per write
        set(kSeconds);
    }
    void testCaseEnded(const Catch::TestCaseStats& /*stats*/) override { set(0); }

  private:
    void set(time_t seconds) const {
        const itimerspec time{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_nsec = 0}};
        ::timer_settime(timer_, 0, &time, nullptr);
    }
    timer_t timer_{};
    std::ofstream log_;
};

CATCH_REGISTER_LISTENER(Watchdog)

}  // namespace
