// SPDX-License-Identifier: MIT
// metagroup export: counts of all CPUs for Prometheus.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <memory>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/version.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/command_line.hpp"
#include "common/process.hpp"
#include "common/text.hpp"
#include "export/scrape.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

// IPv4 only, as civetweb in Debian.
struct Address {
    std::string host;
    std::uint16_t port = 0;

    std::string to_string() const { return fmt::format("{}:{}", host, port); }
};

// Nothing if the host is no address.
std::optional<sockaddr_in> socket_address(const Address& address) {
    sockaddr_in socket{};
    socket.sin_family = AF_INET;
    socket.sin_port = htons(address.port);
    if (::inet_pton(AF_INET, address.host.c_str(), &socket.sin_addr) != 1) return std::nullopt;
    return socket;
}

// Reads ADDR:PORT. \throws std::invalid_argument that names the option and gives an example.
Address parse_address(const std::string& text) {
    const std::size_t colon = text.find(':');
    if (colon != text.npos) {
        Address address{text.substr(0, colon), 0};
        const char* const last = text.data() + text.size();
        const auto [end, error] = std::from_chars(text.data() + colon + 1, last, address.port);
        if (error == std::errc{} && end == last && socket_address(address)) return address;
    }
    throw std::invalid_argument(
        fmt::format("--listen needs an IPv4 address and a port, as in 127.0.0.1:19468 or "
                    "0.0.0.0:19468, not '{}'",
                    text));
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

// \throws std::system_error that names address and remedy if the address cannot be bound.
void check_free(const Address& address) {
    const sockaddr_in wanted = socket_address(address).value();
    const metagroup::detail::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;  // connections that have just ended do not block the port
    if (socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&wanted), sizeof wanted) == 0)
        return;
    const int error = errno;
    throw std::system_error(
        error, std::generic_category(),
        fmt::format("cannot listen on {}{}", address.to_string(), remedy(error)));
}

struct ExportOptions {
    Selection selection;
    // The Prometheus project has assigned all ports from 9100 to 9999. This one is below the ports
    // that Linux gives to clients.
    std::string listen = "127.0.0.1:19468";
};

std::unique_ptr<prometheus::Exposer> serve_on(const Address& address) {
    check_free(address);
    try {
        // Several threads, since scrapes wait for each other.
        return std::make_unique<prometheus::Exposer>(
            std::vector<std::string>{"listening_ports", address.to_string(), "num_threads", "4"});
    } catch (const std::runtime_error& error) {
        throw std::runtime_error(
            fmt::format("cannot listen on {}: {}", address.to_string(), error.what()));
    }
}

void run(const ExportOptions& options) {
    Output output("");
    Address address = parse_address(options.listen);
    // Before the threads of the server start, so that they inherit the mask.
    const Signals signals{SIGINT, SIGTERM};
    const auto scrape =
        std::make_shared<Scrape>(options.selection.options(), METAGROUP_VERSION_STRING);
    const auto exposer = serve_on(address);
    exposer->RegisterCollectable(scrape);
    address.port = static_cast<std::uint16_t>(exposer->GetListeningPorts().at(0));
    output.write(fmt::format("Counters by {} on http://{}/metrics\n", scrape->backend(),
                             address.to_string()));
    while (signals.wait_until(Signals::Clock::time_point::max()) == 0) {
    }
    output.write(fmt::format("{} scrapes\n", scrape->scrapes()));
}

}  // namespace

void add_export(CLI::App& app, int& /*status*/) {
    CLI::App* command = app.add_subcommand("export", "serve counts of all CPUs to Prometheus");
    const auto options = std::make_shared<ExportOptions>();
    options->selection.add_options(*command);
    command
        ->add_option("--listen", options->listen,
                     "address and port to listen on; all clients may read the counts")
        ->type_name("ADDR:PORT")
        ->capture_default_str();
    command->callback([options] { run(*options); });
}

}  // namespace tool
