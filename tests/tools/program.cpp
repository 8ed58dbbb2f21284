// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <utmp.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <system_error>

namespace {

using Clock = std::chrono::steady_clock;

// Virtual CPUs may stand still for long.
constexpr auto kPatience = 20s;

// Without escape sequences and control characters.
std::string text_of(std::string_view bytes) {
    std::string text;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        if (bytes[at] == '\033') {
            if (++at < bytes.size() && bytes[at] == '[') {
                do {
                    ++at;
                } while (at < bytes.size() && (bytes[at] < '@' || bytes[at] > '~'));
            } else if (at < bytes.size() && bytes[at] == '(') {
                ++at;
            }
        } else if (static_cast<unsigned char>(bytes[at]) >= ' ') {
            text += bytes[at];
        }
    }
    return text;
}

[[noreturn]] void become(const std::vector<std::string>& command, Pty::Variables variables) {
    ::setenv("TERM", "xterm", 1);
    ::setenv("LC_ALL", "C.UTF-8", 1);
    ::unsetenv("NO_COLOR");
    for (const auto& [name, value] : variables)
        ::setenv(name, value, 1);
    std::vector<char*> words;
    for (const std::string& word : command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execv(words[0], words.data());
    ::_exit(127);
}

}  // namespace

Outcome run_program(const std::string& command, Who who) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const metagroup::detail::UniqueFd from(ends[0]);
    metagroup::detail::UniqueFd to(ends[1]);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        constexpr uid_t nobody = 65534;
        if (who == Who::nobody && (::setgroups(0, nullptr) || ::setgid(nobody) || ::setuid(nobody)))
            ::_exit(126);
        ::dup2(to.get(), STDOUT_FILENO);
        ::dup2(to.get(), STDERR_FILENO);
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        ::_exit(127);
    }
    to.reset();
    Outcome outcome{};
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::read(from.get(), buffer.data(), buffer.size())) > 0;)
        outcome.text.append(buffer.data(), static_cast<std::size_t>(got));
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
}

std::string newer_perf() {
    const auto variable = [](const char* name) {
        const char* const value = std::getenv(name);
        return std::string(value != nullptr ? value : "");
    };
    std::string cache = variable("METAGROUP_CACHE");
    if (cache.empty() && !variable("XDG_CACHE_HOME").empty())
        cache = variable("XDG_CACHE_HOME") + "/perf-metagroup";
    if (cache.empty()) cache = variable("HOME") + "/.cache/perf-metagroup";
    return cache + "/perf/trixie-backports/perf";
}

Outcome run_tool(const std::string& arguments) {
    return run_program(METAGROUP_TOOL " " + arguments);
}

std::string tool_output(const std::string& arguments) {
    const Outcome outcome = run_tool(arguments);
    CAPTURE(arguments, outcome.text);
    REQUIRE(outcome.status == 0);
    return outcome.text;
}

void tool_fails(const std::string& arguments, const std::vector<std::string>& parts) {
    // Errors mostly repeat a word of the command line: that does not tell one from another.
    REQUIRE(std::ranges::any_of(
        parts, [&](const auto& part) { return arguments.find(part) == std::string::npos; }));
    // A command line that is not refused may run without end.
    const Outcome outcome = run_program("timeout 60 " METAGROUP_TOOL " " + arguments);
    CAPTURE(arguments, outcome.text);
    CHECK(outcome.status == kFailure);
    for (const std::string& part : parts)
        CHECK_THAT(outcome.text, ContainsSubstring(part));
}

void need_no_module() {
    if (::access("/dev/perf_metagroup", F_OK) == 0) SKIP("the module is loaded here");
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
        parts.push_back(part);
    return parts;
}

Outcome run_without_perf(const std::string& command, int error) {
    // The filter applies to this thread and to the processes that it starts.
    Outcome outcome{};
    std::thread([&] {
        std::array<sock_filter, 4> code{{
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        }};
        const sock_fprog program{.len = code.size(), .filter = code.data()};
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
        outcome = run_program(command);
    }).join();
    return outcome;
}

std::vector<nlohmann::json> json_lines(const std::string& text) {
    std::vector<nlohmann::json> lines;
    for (const std::string& line : split(text, '\n'))
        lines.push_back(nlohmann::json::parse(line));
    return lines;
}

std::string contents_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t number_online() {
    return metagroup::CpuList::online().size();
}

Pty::Pty(std::vector<std::string> command, Variables variables, TerminalSize size) {
    winsize visible{.ws_row = size.rows, .ws_col = size.columns, .ws_xpixel = 0, .ws_ypixel = 0};
    int master = -1;
    int slave = -1;
    if (::openpty(&master, &slave, nullptr, nullptr, &visible) != 0)
        throw std::system_error(errno, std::generic_category(), "openpty");
    master_ = metagroup::detail::UniqueFd(master);
    slave_ = metagroup::detail::UniqueFd(slave);
    child_ = ::fork();
    if (child_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child_ == 0) {
        ::close(master);
        ::login_tty(slave);
        become(command, variables);
    }
}

Pty::~Pty() {
    if (child_ < 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
}

// \return whether something came.
bool Pty::read_for(std::chrono::milliseconds time) {
    pollfd file{.fd = master_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&file, 1, static_cast<int>(time.count())) <= 0) return false;
    std::array<char, 4096> bytes{};
    const ssize_t got = ::read(master_.get(), bytes.data(), bytes.size());
    if (got > 0) all_.append(bytes.data(), static_cast<std::size_t>(got));
    return got > 0;
}

bool Pty::shows(std::string_view text, std::string* all) {
    const auto end = Clock::now() + kPatience;
    do {
        read_for(50ms);
        if (screen().find(text) != std::string::npos) {
            if (all != nullptr) *all = screen();
            seen_ = all_.size();
            return true;
        }
    } while (Clock::now() < end);
    return false;
}

std::string Pty::screen() const {
    return text_of(std::string_view(all_).substr(seen_));
}

void Pty::type(std::string_view keys) {
    if (::write(master_.get(), keys.data(), keys.size()) != static_cast<ssize_t>(keys.size()))
        throw std::system_error(errno, std::generic_category(), "cannot type");
}

void Pty::signal(int number) const {
    ::kill(child_, number);
}

void Pty::hang_up() {
    master_.reset();
}

std::optional<int> Pty::end() {
    const auto end = Clock::now() + kPatience;
    do {
        if (master_)
            read_for(20ms);
        else
            std::this_thread::sleep_for(20ms);
        int status = 0;
        if (::waitpid(child_, &status, WNOHANG) == child_) {
            child_ = -1;
            while (master_ && read_for(0ms)) {
            }
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    } while (Clock::now() < end);
    return std::nullopt;
}
