// SPDX-License-Identifier: MIT
#include "http.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <metagroup/detail/unique_fd.hpp>
#include <sstream>

std::string get(std::uint16_t port, const std::string& path) {
    const metagroup::detail::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return {};
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return {};
    std::string answer;
    std::array<char, 4096> bytes{};
    for (ssize_t got = 0; (got = ::read(socket.get(), bytes.data(), bytes.size())) > 0;)
        answer.append(bytes.data(), static_cast<std::size_t>(got));
    return answer;
}

Samples samples_of(const std::string& answer) {
    Samples samples;
    std::istringstream lines(answer.substr(answer.find("\r\n\r\n") + 4));
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line.front() == '#') continue;
        const std::size_t space = line.rfind(' ');
        samples[line.substr(0, space)] = std::stod(line.substr(space + 1));
    }
    return samples;
}
