// SPDX-License-Identifier: MIT
// Scrapes of an exporter, as those of Prometheus.
#pragma once

#include <cstdint>
#include <map>
#include <metagroup/detail/unique_fd.hpp>
#include <string>

// Not open if no program listens there.
metagroup::detail::UniqueFd connection(const std::string& host, std::uint16_t port);

struct Request {
    std::string path = "/metrics";
    std::string method = "GET";
    std::string headers{};  // each with its \r\n
    std::string host = "127.0.0.1";
};

// The answer, with its headers; nothing if no program listens there.
std::string get(std::uint16_t port, const Request& request = {});

std::string body_of(const std::string& answer);

using Samples = std::map<std::string, double>;  // by name and labels
// In the format that the answer has. \throws as read_page().
Samples samples_of(const std::string& answer);
