// SPDX-License-Identifier: MIT
#include "common/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <system_error>

namespace tool {
namespace {

bool begins_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U;
}

constexpr std::array<double, 10> kPowers{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

// Doubles represent every integer below this.
constexpr double kExact = 9007199254740992.0;  // 2^53

void append_right(std::string& text, std::string_view number, std::size_t width) {
    if (number.size() < width) text.append(width - number.size(), ' ');
    text.append(number);
}

}  // namespace

std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string_view clip(std::string_view text, std::size_t columns) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (begins_character(text[at]) && columns-- == 0) return text.substr(0, at);
    }
    return text;
}

std::vector<std::string> fold(std::string_view text, std::size_t width) {
    constexpr std::string_view blanks = " \t\n";
    std::vector<std::string> lines;
    std::size_t used = 0;
    for (std::size_t begin = text.find_first_not_of(blanks); begin != text.npos;) {
        const std::size_t end = std::min(text.find_first_of(blanks, begin), text.size());
        const std::string_view word = text.substr(begin, end - begin);
        if (lines.empty() || used + 1 + display_width(word) > width) {
            lines.emplace_back(word);
            used = display_width(word);
        } else {
            lines.back().append(" ").append(word);
            used += 1 + display_width(word);
        }
        begin = text.find_first_not_of(blanks, end);
    }
    return lines;
}

std::string entry(std::string_view name, std::string_view text, const Columns& columns) {
    constexpr std::size_t least = 20;  // even on narrower terminals
    const std::size_t room = std::max(least, columns.width - std::min(columns.width, columns.text));
    std::string result = std::string(columns.indent, ' ').append(name);
    std::size_t used = columns.indent + display_width(name);
    for (const std::string& line : fold(text, room)) {
        if (used >= columns.text) {
            result += '\n';
            used = 0;
        }
        result.append(columns.text - used, ' ').append(line);
        used = columns.text;
    }
    return result + '\n';
}

namespace {

// `rest` is in units of 10^-decimals.
void append_parts(std::string& text, std::uint64_t rest, bool negative, unsigned decimals,
                  std::size_t width, Digits digits) {
    std::array<char, 32> room{};
    char* const end = room.data() + room.size();
    char* begin = end;
    const auto put = [&] {
        *--begin = static_cast<char>('0' + rest % 10);
        rest /= 10;
    };
    for (unsigned i = 0; i < decimals; ++i)
        put();
    if (decimals > 0) *--begin = '.';
    put();
    unsigned put_before = 1;
    while (rest != 0) {
        if (digits == Digits::grouped && put_before % 3 == 0) *--begin = ',';
        put();
        ++put_before;
    }
    if (negative) *--begin = '-';
    append_right(text, {begin, static_cast<std::size_t>(end - begin)}, width);
}

}  // namespace

void append_decimal(std::string& text, double value, unsigned decimals, std::size_t width,
                    Digits digits) {
    const double scaled = std::abs(value) * kPowers.at(decimals);
    if (!(scaled < kExact))  // also true for NaN
        return append_right(text, fmt::format("{:.{}f}", value, decimals), width);
    const auto parts = static_cast<std::uint64_t>(std::llround(scaled));
    append_parts(text, parts, value < 0 && parts != 0, decimals, width, digits);
}

void append_integer(std::string& text, std::uint64_t value, std::size_t width, Digits digits) {
    append_parts(text, value, false, 0, width, digits);
}

std::string short_number(double value) {
    constexpr std::string_view kPrefixes = " kMGTPE";
    if (!std::isfinite(value)) return "-";
    if (value == 0) return "0";
    if (std::abs(value) < 0.005) return fmt::format("{:.0e}", value);
    std::size_t prefix = 0;
    // 999.5 is rounded up to a thousand.
    while (std::abs(value) >= 999.5) {
        if (++prefix == kPrefixes.size()) return fmt::format("{:.0e}", value * 1e18);
        value /= 1000;
    }
    const double size = std::abs(value);
    const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (prefix > 0) text += kPrefixes[prefix];
    return text;
}

std::string with_unit(std::chrono::nanoseconds time) {
    const auto ns = static_cast<double>(time.count());
    if (ns < 1e3) return fmt::format("{} ns", time.count());
    if (ns < 1e6) return fmt::format("{:.4g} us", ns / 1e3);
    if (ns < 1e9) return fmt::format("{:.4g} ms", ns / 1e6);
    return fmt::format("{:.4g} s", ns / 1e9);
}

std::string csv_field(std::string_view text, std::string_view separator) {
    if (text.find(separator) == text.npos && text.find_first_of("\"\r\n") == text.npos)
        return std::string(text);
    std::string quoted = "\"";
    for (const char c : text)
        quoted.append(c == '"' ? 2 : 1, c);
    return quoted + '"';
}

Output::Output(const std::string& path, bool append, Stream stream) : name_(path), stream_(stream) {
    if (path.empty()) {
        name_ = stream == Stream::output ? "standard output" : "standard error";
        return;
    }
    if (path == "-") {
        name_ = "standard output";
        stream_ = Stream::output;
        return;
    }
    file_ = metagroup::detail::UniqueFd(
        ::open(path.c_str(), O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC) | O_CLOEXEC, 0666));
    if (!file_) throw std::system_error(errno, std::generic_category(), "cannot write " + name_);
}

void Output::write(std::string_view text) {
    while (!text.empty()) {
        const ssize_t done = ::write(fd(), text.data(), text.size());
        if (done >= 0)
            text.remove_prefix(static_cast<std::size_t>(done));
        else if (errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "cannot write " + name_);
    }
}

std::size_t Output::width() const {
    constexpr std::size_t usual = 80;
    winsize size{};
    return ::ioctl(fd(), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

void occupy_closed_streams() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        // open() uses the lowest free number, which is this one. With the wrong direction, uses of
        // the stream fail.
        if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

void finish_printing() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot write standard output");
}

}  // namespace tool
