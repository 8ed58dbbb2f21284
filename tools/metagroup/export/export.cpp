// SPDX-License-Identifier: MIT
// metagroup export: counts of all CPUs for Prometheus.
#include <fmt/format.h>
#include <prometheus/exposer.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "export/address.hpp"
#include "export/scrape.hpp"
#include "output.hpp"
#include "selection.hpp"
#include "signals.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

struct ExportOptions {
    Selection selection;
    // Of 9100 to 9999 the Prometheus project has given all numbers to others. This one is below
    // those that Linux gives to clients.
    std::string listen = "127.0.0.1:19468";
};

std::unique_ptr<prometheus::Exposer> serve_on(const Address& address) {
    check_free(address);
    try {
        // Threads that wait for a sweep of others must not keep everybody out.
        return std::make_unique<prometheus::Exposer>(
            std::vector<std::string>{"listening_ports", address.to_string(), "num_threads", "4"});
    } catch (const std::runtime_error& error) {
        throw std::runtime_error(
            fmt::format("cannot listen on {}: {}", address.to_string(), error.what()));
    }
}

void run(const ExportOptions& options) {
    Output output("");
    Address address = Address::parse(options.listen);
    // Before there are threads, which would get them else.
    const Signals signals{SIGINT, SIGTERM};
    const auto scrape = std::make_shared<Scrape>(options.selection.options(), METAGROUP_VERSION);
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
                     "address and port to listen on; who reaches it may read the counts")
        ->type_name("ADDR:PORT")
        ->capture_default_str();
    command->callback([options] { run(*options); });
}

}  // namespace tool
