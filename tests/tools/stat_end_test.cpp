// SPDX-License-Identifier: MIT
// The end of stat: by its command, a timeout, or a signal.
#include "program.hpp"

using Clock = std::chrono::steady_clock;

namespace {

// Much longer than ending a command takes, much shorter than the commands run.
constexpr auto kInTime = 20s;
const std::string kLong = "sleep 60";

Outcome count_clock(const std::string& arguments) {
    return run_tool("stat -e cpu-clock " + arguments);
}

std::vector<double> interval_ends(const std::string& csv) {
    std::vector<double> ends;
    for (const std::string& line : split(csv, '\n'))
        ends.push_back(std::stod(line));
    return ends;
}

bool happens(const std::function<bool()>& condition) {
    const auto end = Clock::now() + kInTime;
    while (!condition()) {
        if (Clock::now() > end) return false;
        std::this_thread::sleep_for(5ms);
    }
    return true;
}

// Read from /proc.
bool ignores(const std::string& status, int signal) {
    const std::size_t at = status.find("SigIgn:");
    return at == status.npos ||
           (std::stoull(status.substr(at + 7), nullptr, 16) >> (signal - 1) & 1) != 0;
}

// metagroup stat, started as a script starts a background process: with SIGINT ignored.
class Background {
  public:
    explicit Background(const std::string& command = "", const std::string& options = "") {
        const std::string output = tree_.path("output");
        const std::string line = std::string("exec " METAGROUP_TOOL " stat -e cpu-clock ") +
                                 options + " -o " + output +
                                 (command.empty() ? "" : " -- " + command);
        pid_ = ::fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            ::signal(SIGINT, SIG_IGN);
            ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
            ::_exit(127);
        }
    }
    ~Background() {
        if (pid_ < 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    std::string path(const std::string& file) const { return tree_.path(file); }
    std::string output() const { return contents_of(path("output")); }
    void signal(int number) const { ::kill(pid_, number); }

    // True once the program has restored its signals.
    bool takes_interrupts() const {
        const std::string process = "/proc/" + std::to_string(pid_);
        std::error_code error;
        if (std::filesystem::read_symlink(process + "/exe", error) != METAGROUP_TOOL) return false;
        return !ignores(contents_of(process + "/status"), SIGINT);
    }

    // The exit status; nothing if it does not end in time.
    std::optional<int> end() {
        int status = 0;
        if (!happens([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }))
            return std::nullopt;
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

  private:
    metagroup::test::TempTree tree_;
    pid_t pid_ = -1;
};

}  // namespace

TEST_CASE(
    "A timeout ends stat and its command, and the elapsed time excludes the end of the command") {
    const auto start = Clock::now();
    const Outcome outcome = count_clock("--timeout 300ms -- " + kLong);
    CHECK(Clock::now() - start < kInTime);
    CHECK(outcome.status == 128 + SIGTERM);
    CHECK_THAT(outcome.text, ContainsSubstring("seconds time elapsed"));
}

TEST_CASE("stat --count also ends the command") {
    const auto start = Clock::now();
    const Outcome outcome = count_clock("-I 50ms --count 2 -x , -- " + kLong);
    CHECK(Clock::now() - start < kInTime);
    CHECK(outcome.status == 128 + SIGTERM);
    CHECK(split(outcome.text, '\n').size() == 2);
}

TEST_CASE("A signal ends stat and its command, with a summary") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        CAPTURE(signal);
        metagroup::test::TempTree tree;
        const std::string file = tree.path("pid");
        Background stat("sh -c 'echo $$ >" + file + "; exec " + kLong + "'");
        REQUIRE(happens([&] { return contents_of(file).ends_with('\n'); }));
        stat.signal(signal);
        CHECK(stat.end() == 128 + SIGTERM);
        CHECK_THAT(stat.output(), ContainsSubstring("seconds time elapsed"));
        CHECK((::kill(std::stoi(contents_of(file)), 0) != 0 && errno == ESRCH));
    }
}

TEST_CASE("Without a command stat succeeds at an interrupt") {
    Background stat;
    REQUIRE(happens([&] { return stat.takes_interrupts(); }));
    std::this_thread::sleep_for(1s);
    stat.signal(SIGINT);
    CHECK(stat.end() == 0);
    CHECK_THAT(stat.output(), ContainsSubstring("seconds time elapsed"));
}

TEST_CASE("A command that ignores SIGTERM is killed") {
    const auto start = Clock::now();
    const Outcome outcome =
        count_clock("--timeout 2s -- sh -c 'trap \"\" TERM; while :; do sleep 0.1; done'");
    CHECK(Clock::now() - start < kInTime);
    CHECK(outcome.status == 128 + SIGKILL);
}

TEST_CASE("A stopped command is also ended") {
    const auto start = Clock::now();
    CHECK(count_clock("--timeout 500ms -- sh -c 'kill -STOP $$'").status == 128 + SIGTERM);
    CHECK(Clock::now() - start < kInTime);
}

TEST_CASE("A write error of stat ends the command") {
    const auto start = Clock::now();
    CHECK(count_clock("-I 50ms -o /dev/full -- " + kLong).status == kFailure);
    const Outcome piped =
        run_program(METAGROUP_TOOL " stat -e cpu-clock -I 50ms -- " + kLong + " 2>&1 | head -n 1");
    CHECK(Clock::now() - start < kInTime);
    CHECK(piped.text.find("Broken pipe") == std::string::npos);
}

TEST_CASE("An interrupt is never lost, even if SIGINT was ignored before") {
    for (int i = 0; i < 40; ++i) {
        CAPTURE(i);
        Background stat;
        REQUIRE(happens([&] { return stat.takes_interrupts(); }));
        std::this_thread::sleep_for(i * 1250us);
        stat.signal(SIGINT);
        const auto status = stat.end();
        REQUIRE(status);
        if (*status == 0)
            CHECK_THAT(stat.output(), ContainsSubstring("seconds time elapsed"));
        else
            CHECK(*status == 128 + SIGINT);
    }
}

TEST_CASE("The command starts without blocked or ignored signals") {
    const Outcome outcome = run_program("trap '' INT QUIT TERM CHLD PIPE; exec " METAGROUP_TOOL
                                        " stat -e cpu-clock -o /dev/null -- cat /proc/self/status");
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring("SigBlk:\t0000000000000000\n"));
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGCHLD, SIGPIPE})
        CHECK_FALSE(ignores(outcome.text, signal));
}

TEST_CASE("stat returns the command's status even if its parent ignores SIGCHLD") {
    CHECK(run_program("trap '' CHLD; exec " METAGROUP_TOOL
                      " stat -e cpu-clock -o /dev/null -- sh -c 'exit 7'")
              .status == 7);
}

TEST_CASE("A command that ignores SIGHUP, as with nohup, is not ended by it") {
    const Outcome outcome = run_program("trap '' HUP; exec " METAGROUP_TOOL
                                        " stat -e cpu-clock -o /dev/null -- sh -c "
                                        "'kill -HUP $PPID; sleep 0.2; exit 7'");
    CHECK(outcome.status == 7);
}

TEST_CASE("A command that ends before the delay of -D is not counted, and ends stat") {
    for (const std::string intervals : {"", "-I 100 "}) {
        const auto start = Clock::now();
        const Outcome outcome = count_clock("-D 10s " + intervals + "-j -- sh -c 'exit 3'");
        CHECK(Clock::now() - start < 9s);
        CHECK(outcome.status == 3);
    }
    const auto lines = json_lines(count_clock("-D 10s -j -- true").text);
    CHECK(lines.at(0).at("elapsed").get<double>() < 0.1);
}

TEST_CASE("An interrupt during -D ends stat") {
    Background stat("sh -c 'kill -INT $PPID; exec " + kLong + "'", "-D 10s");
    CHECK(stat.end() == 128 + SIGTERM);
}

TEST_CASE("The mean excludes a run that was interrupted") {
    const Outcome outcome = run_program(
        "rm -f again; trap '' INT; exec " METAGROUP_TOOL
        " stat -e cpu-clock -r 5 -j -- sh -c 'if [ -e again ]; then rm again; kill -INT $PPID; "
        "exec sleep 60; fi; : >again; sleep 0.3'");
    CAPTURE(outcome.text);
    const auto line = json_lines(outcome.text).at(0);
    CHECK(line.at("elapsed").get<double>() >= 0.3);
    CHECK_FALSE(line.contains("variance"));
}

TEST_CASE("An interval that the end of the command cuts short is printed with its own time") {
    const auto ends = interval_ends(count_clock("-I 10s -x , -- true").text);
    REQUIRE(ends.size() == 1);
    CHECK(ends[0] > 0);
    CHECK(ends[0] < 10);
}

TEST_CASE("A timeout ends an interval early, and adds none if it coincides with the end of one") {
    const auto early = interval_ends(count_clock("-I 1s --timeout 1100ms -x ,").text);
    REQUIRE(early.size() == 2);
    CHECK(early[0] >= 1.0);
    CHECK(early[1] >= 1.1);
    CHECK(early[1] < 2.0);
    CHECK(interval_ends(count_clock("-I 500ms --timeout 1s -x ,").text).size() == 2);
}
