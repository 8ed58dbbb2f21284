// SPDX-License-Identifier: MIT
#include "pty.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

namespace {

using namespace std::chrono_literals;
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

Pty::Pty(std::vector<std::string> command, Variables variables, TerminalSize size) {
    winsize visible{.ws_row = size.rows, .ws_col = size.columns, .ws_xpixel = 0, .ws_ypixel = 0};
    int master = -1;
    int slave = -1;
    if (::openpty(&master, &slave, nullptr, nullptr, &visible) != 0)
        throw std::system_error(errno, std::generic_category(), "openpty");
    master_ = metagroup::detail::UniqueFd(master);
    slave_ = metagroup::detail::UniqueFd(slave);
    ::tcgetattr(slave, &before_);
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

bool Pty::stops() {
    const auto end = Clock::now() + kPatience;
    do {
        read_for(20ms);
        int status = 0;
        if (::waitpid(child_, &status, WNOHANG | WUNTRACED) == child_) return WIFSTOPPED(status);
    } while (Clock::now() < end);
    return false;
}

bool Pty::taken() {
    const auto end = Clock::now() + kPatience;
    while (restored() && Clock::now() < end)
        read_for(20ms);
    return !restored();
}

bool Pty::restored() const {
    termios now{};
    ::tcgetattr(slave_.get(), &now);
    return now.c_iflag == before_.c_iflag && now.c_oflag == before_.c_oflag &&
           now.c_cflag == before_.c_cflag && now.c_lflag == before_.c_lflag &&
           std::memcmp(now.c_cc, before_.c_cc, sizeof now.c_cc) == 0;
}
