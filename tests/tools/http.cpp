// SPDX-License-Identifier: MIT
#include "http.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <memory>

#include "metrics_page.hpp"

metagroup::detail::UniqueFd connection(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return {};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> address(found, &::freeaddrinfo);
    metagroup::detail::UniqueFd socket(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), address->ai_addr, address->ai_addrlen) != 0) socket.reset();
    return socket;
}

std::string get(std::uint16_t port, const Request& request) {
    const auto socket = connection(request.host, port);
    if (!socket) return {};
    const std::string text =
        request.method + " " + request.path + " HTTP/1.0\r\n" + request.headers + "\r\n";
    if (::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) return {};
    std::string answer;
    std::array<char, 4096> bytes{};
    for (ssize_t got = 0; (got = ::read(socket.get(), bytes.data(), bytes.size())) > 0;)
        answer.append(bytes.data(), static_cast<std::size_t>(got));
    return answer;
}

std::string body_of(const std::string& answer) {
    return answer.substr(answer.find("\r\n\r\n") + 4);
}

Samples samples_of(const std::string& answer) {
    const bool open = answer.find("application/openmetrics-text") != std::string::npos;
    Samples samples;
    for (const auto& [name, series] :
         read_page(body_of(answer), open ? tool::Format::open_metrics : tool::Format::text))
        samples[name] = std::stod(series.value);
    return samples;
}
