// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace tool {

// Where a server listens. IPv4 only: Debian's civetweb knows no other.
struct Address {
    std::string host;
    std::uint16_t port = 0;

    // Reads ADDR:PORT, as in 127.0.0.1:19468.
    // \throws std::invalid_argument that names the option and how it is written.
    static Address parse(const std::string& text);

    std::string to_string() const;
};

// \throws std::system_error that names address and remedy if nobody can listen there.
void check_free(const Address& address);

}  // namespace tool
