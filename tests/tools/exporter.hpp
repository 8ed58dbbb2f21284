// SPDX-License-Identifier: MIT
// metagroup export on a free port, scraped as Prometheus does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "http.hpp"
#include "metrics_page.hpp"
#include "program.hpp"

class Exporter {
  public:
    explicit Exporter(std::vector<std::string> options, const std::string& host = "127.0.0.1")
        : terminal_(command(std::move(options), host), {}, {.rows = 24, .columns = 200}) {
        std::string line;
        REQUIRE(terminal_.shows("/metrics", &line));
        std::smatch found;
        REQUIRE(std::regex_search(line, found, std::regex(":(\\d+)/metrics")));
        port_ = static_cast<std::uint16_t>(std::stoi(found[1]));
    }
    explicit Exporter(const std::string& events = "cpu-clock,page-faults",
                      const std::string& labels = "cpu", const std::string& host = "127.0.0.1")
        : Exporter({"-e", events, "--labels", labels}, host) {}

    std::uint16_t port() const { return port_; }
    std::string answer(const Request& request = {}) const { return get(port_, request); }
    Samples scrape() const { return samples_of(answer()); }
    // With numbers as they are written.
    MetricsPage page() const { return read_page(body_of(answer()), tool::Format::text); }
    Pty& terminal() { return terminal_; }

  private:
    static std::vector<std::string> command(std::vector<std::string> options,
                                            const std::string& host) {
        options.insert(options.begin(), {METAGROUP_TOOL, "export", "--listen", host + ":0"});
        return options;
    }

    Pty terminal_;
    std::uint16_t port_ = 0;
};

inline std::string clock_of(int cpu) {
    return "metagroup_event_seconds_total{event=\"cpu-clock\",cpu=\"" + std::to_string(cpu) + "\"}";
}
