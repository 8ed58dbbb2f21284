// SPDX-License-Identifier: MIT
// metagroup export: counts of all CPUs for Prometheus.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <metagroup/version.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/command_line.hpp"
#include "common/process.hpp"
#include "common/text.hpp"
#include "export/listener.hpp"
#include "export/scrape.hpp"
#include "export/server.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

// The Prometheus project has assigned all ports from 9100 to 9999. This port is below the range
// that Linux uses for clients.
constexpr const char* kAddress = "127.0.0.1:19468";

// More than most exporters on a machine have.
constexpr std::size_t kManySeries = 1000;

struct ExportOptions {
    Selection selection;
    std::vector<std::string> addresses;
    std::vector<std::string> labels{"cpu"};
};

std::vector<Listener> listeners_of(const ExportOptions& options) {
    std::vector<Listener> listeners = take_passed_sockets();
    if (!listeners.empty()) {
        if (!options.addresses.empty())
            throw std::invalid_argument(
                "systemd passes the sockets to listen on: remove --listen, or the *.socket unit");
        return listeners;
    }
    for (const std::string& address : options.addresses)
        listeners.push_back(listen_on(address));
    if (listeners.empty()) listeners.push_back(listen_on(kAddress));
    return listeners;
}

void warn_of_many(std::size_t series) {
    if (series <= kManySeries) return;
    fmt::print(stderr,
               "metagroup: a scrape has {} time series of events; use fewer events, or --labels "
               "without cpu and core, to reduce it\n",
               series);
}

void run(const ExportOptions& options) {
    Output output("");
    // Before the server's threads start, so that they inherit the mask.
    const Signals signals{SIGINT, SIGTERM};
    std::vector<Listener> listeners = listeners_of(options);
    Scrape scrape(options.selection.options(), options.labels, METAGROUP_VERSION_STRING);
    warn_of_many(scrape.series());
    std::string lines;
    for (const Listener& listener : listeners)
        lines += fmt::format("Counters by {} on {}\n", scrape.backend(), listener.url);
    {
        Server server(std::move(listeners),
                      [&scrape](Format format) { return scrape.page(format); });
        output.write(lines);
        while (signals.wait_until(Signals::Clock::now() + std::chrono::seconds(1)) == 0)
            server.shut_late();
    }
    output.write(fmt::format("{} scrapes\n", scrape.scrapes()));
}

}  // namespace

void add_export(CLI::App& app, int& /*status*/) {
    CLI::App* command = app.add_subcommand("export", "serve counts of all CPUs to Prometheus");
    const auto options = std::make_shared<ExportOptions>();
    options->selection.add_options(*command);
    command
        ->add_option("--listen", options->addresses,
                     "address to listen on, e.g. [::1]:80; :80 listens on all addresses; any "
                     "client can read the counts; can be given several times")
        ->allow_extra_args(false)
        ->type_name("ADDR:PORT")
        ->default_str(kAddress);
    command
        ->add_option("--labels", options->labels,
                     "labels of the counts, e.g. cpu,socket; CPUs with equal labels are added up; "
                     "event is always included")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(Labels::names()))
        ->default_str("cpu");
    command->callback([options] { run(*options); });
}

}  // namespace tool
