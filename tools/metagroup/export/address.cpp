// SPDX-License-Identifier: MIT
#include "export/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <metagroup/detail/unique_fd.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace tool {
namespace {

// Nothing if the host is no address.
std::optional<sockaddr_in> socket_of(const Address& address) {
    sockaddr_in socket{};
    socket.sin_family = AF_INET;
    socket.sin_port = htons(address.port);
    if (::inet_pton(AF_INET, address.host.c_str(), &socket.sin_addr) != 1) return std::nullopt;
    return socket;
}

std::optional<Address> read(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == text.npos) return std::nullopt;
    Address address{std::string(text.substr(0, colon)), 0};
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + colon + 1, last, address.port);
    if (error != std::errc{} || end != last || !socket_of(address)) return std::nullopt;
    return address;
}

const char* remedy(int error) {
    switch (error) {
        case EADDRINUSE:
            return " (choose another port by --listen)";
        case EADDRNOTAVAIL:
            return " (no interface here has that address)";
        case EACCES:
            return " (ports from 1024 on need no privilege)";
        default:
            return "";
    }
}

}  // namespace

Address Address::parse(const std::string& text) {
    if (const auto address = read(text)) return *address;
    throw std::invalid_argument(
        fmt::format("--listen wants an address of IPv4 and a port, as in 127.0.0.1:19468 or "
                    "0.0.0.0:19468, not '{}'",
                    text));
}

std::string Address::to_string() const {
    return fmt::format("{}:{}", host, port);
}

void check_free(const Address& address) {
    const sockaddr_in wanted = socket_of(address).value();
    const metagroup::detail::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;  // connections that have just ended are in nobody's way
    if (socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&wanted), sizeof wanted) == 0)
        return;
    const int error = errno;
    throw std::system_error(
        error, std::generic_category(),
        fmt::format("cannot listen on {}{}", address.to_string(), remedy(error)));
}

}  // namespace tool
