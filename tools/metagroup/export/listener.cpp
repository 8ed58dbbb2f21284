// SPDX-License-Identifier: MIT
#include "export/listener.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace tool {
namespace {

using metagroup::detail::UniqueFd;

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

struct HostPort {
    std::string host;  // empty for all addresses
    std::string port;
};

HostPort parse_address(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    if (colon != text.npos &&
        whole_number<std::uint16_t>(std::string_view(text).substr(colon + 1))) {
        HostPort address{text.substr(0, colon), text.substr(colon + 1)};
        std::string& host = address.host;
        const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
        if (brackets) host = host.substr(1, host.size() - 2);
        if ((host.find(':') != host.npos) == brackets) return address;
    }
    throw std::invalid_argument(
        fmt::format("--listen needs an address and a port, e.g. 127.0.0.1:19468, [::1]:19468, "
                    "localhost:19468 or :19468 for all addresses, not '{}'",
                    text));
}

const char* remedy(int error) {
    switch (error) {
        case EADDRINUSE:
            return " (choose another port with --listen)";
        case EADDRNOTAVAIL:
            return " (no interface has this address)";
        case EACCES:
            return " (ports from 1024 up need no privileges)";
        default:
            return "";
    }
}

struct Address {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;

    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::string url_of(const UniqueFd& socket) {
    Address address;
    if (::getsockname(socket.get(), address.get(), &address.size) != 0)
        throw std::system_error(errno, std::generic_category(), "getsockname");
    if (address.storage.ss_family == AF_UNIX)
        return reinterpret_cast<const sockaddr_un*>(address.get())->sun_path;
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> port{};
    if (const int error = ::getnameinfo(address.get(), address.size, host.data(), host.size(),
                                        port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV))
        throw std::runtime_error(fmt::format("getnameinfo: {}", ::gai_strerror(error)));
    const bool v6 = address.storage.ss_family == AF_INET6;
    return fmt::format("http://{}{}{}:{}/metrics", v6 ? "[" : "", host.data(), v6 ? "]" : "",
                       port.data());
}

// \return no socket, and sets errno, if it cannot listen on the address.
UniqueFd open_socket(const addrinfo& at) {
    UniqueFd socket(::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) return socket;
    const int on = 1;  // recently closed connections do not block the port
    const int off = 0;
    if (::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        // An IPv6 socket for all addresses also accepts IPv4.
        (at.ai_family != AF_INET6 ||
         ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0) &&
        ::bind(socket.get(), at.ai_addr, at.ai_addrlen) == 0 &&
        ::listen(socket.get(), SOMAXCONN) == 0)
        return socket;
    const int error = errno;
    socket.reset();
    errno = error;
    return socket;
}

Listener listen_on(const std::string& host, const std::string& port, const std::string& text) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found))
        throw std::runtime_error(fmt::format("cannot listen on {}: {} (give a numeric address)",
                                             text, ::gai_strerror(error)));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
    int error = 0;
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
        if (UniqueFd socket = open_socket(*at)) {
            std::string url = url_of(socket);
            return {std::move(socket), std::move(url)};
        }
        error = errno;
    }
    throw std::system_error(error, std::generic_category(),
                            fmt::format("cannot listen on {}{}", text, remedy(error)));
}

}  // namespace

Listener listen_on(const std::string& address) {
    const auto [host, port] = parse_address(address);
    if (!host.empty()) return listen_on(host, port, address);
    try {
        return listen_on("::", port, address);
    } catch (const std::system_error& error) {
        if (error.code().value() != EAFNOSUPPORT) throw;
        return listen_on("0.0.0.0", port, address);  // a kernel without IPv6
    }
}

std::vector<Listener> take_passed_sockets() {
    constexpr int kFirst = 3;
    const auto variable = [](const char* name) {
        const char* const value = std::getenv(name);
        return whole_number<int>(value == nullptr ? "" : value).value_or(0);
    };
    const int count = variable("LISTEN_PID") == ::getpid() ? variable("LISTEN_FDS") : 0;
    for (const char* const name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"})
        ::unsetenv(name);  // not meant for child processes
    std::vector<Listener> listeners;
    for (int fd = kFirst; fd < kFirst + count; ++fd) {
        UniqueFd socket(fd);
        int listens = 0;
        socklen_t size = sizeof listens;
        if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 ||
            ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
            throw std::runtime_error(
                fmt::format("descriptor {} of LISTEN_FDS is not a listening socket: the *.socket "
                            "unit needs ListenStream= and Accept=no",
                            fd));
        std::string url = url_of(socket);
        listeners.push_back({std::move(socket), std::move(url)});
    }
    return listeners;
}

}  // namespace tool
