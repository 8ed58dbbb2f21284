// SPDX-License-Identifier: MIT
// Scrapes of an exporter, as those of Prometheus.
#pragma once

#include <cstdint>
#include <map>
#include <string>

// The answer of this machine to GET, with its headers; nothing if no program listens there.
std::string get(std::uint16_t port, const std::string& path);

using Samples = std::map<std::string, double>;  // by name and labels
Samples samples_of(const std::string& answer);
