// SPDX-License-Identifier: MIT
// metagroup export, scraped like Prometheus.
#include <future>
#include <metagroup/version.hpp>

#include "export/scrape.hpp"
#include "http.hpp"
#include "program.hpp"
#include "support/cpus.hpp"

namespace {

// The exporter on a port that is free, on a terminal of its own.
class Exporter {
  public:
    explicit Exporter(const std::string& events = "cpu-clock,page-faults")
        : terminal_({METAGROUP_TOOL, "export", "-e", events, "--listen", "127.0.0.1:0"}, {},
                    {.rows = 24, .columns = 200}) {
        std::string line;
        REQUIRE(terminal_.shows("/metrics", &line));
        std::smatch found;
        REQUIRE(std::regex_search(line, found, std::regex(":(\\d+)/metrics")));
        port_ = static_cast<std::uint16_t>(std::stoi(found[1]));
    }

    std::uint16_t port() const { return port_; }
    std::string answer() const { return get(port_, "/metrics"); }
    Samples scrape() const { return samples_of(answer()); }
    Pty& terminal() { return terminal_; }

  private:
    Pty terminal_;
    std::uint16_t port_ = 0;
};

std::string clock_of(int cpu) {
    return "metagroup_event_total{cpu=\"" + std::to_string(cpu) +
           "\",group=\"0\",event=\"cpu-clock\",unit=\"seconds\"}";
}

}  // namespace

TEST_CASE("A scrape has each event of each CPU, in base units") {
    const Exporter exporter;
    const Samples samples = exporter.scrape();
    for (const int cpu : metagroup::CpuList::online()) {
        CAPTURE(cpu);
        REQUIRE(samples.contains(clock_of(cpu)));
        CHECK(samples.at(clock_of(cpu)) < 60);
        CHECK(samples.at("metagroup_cpu_online{cpu=\"" + std::to_string(cpu) + "\"}") == 1);
        CHECK(samples.contains("metagroup_group_running_seconds_total{cpu=\"" +
                               std::to_string(cpu) + "\",group=\"1\"}"));
    }
    CHECK(samples.at("metagroup_build_info{version=\"" METAGROUP_VERSION_STRING "\"}") == 1);
    CHECK(samples.at("metagroup_sweeps_total") == 1);
    CHECK(samples.at("metagroup_sweep_duration_seconds_count") == 1);
}

TEST_CASE("Counts of a clock grow by the time between scrapes") {
    const Exporter exporter;
    double last = exporter.scrape().at(clock_of(0));
    for (int scrape = 0; scrape < 3; ++scrape) {
        ::usleep(100'000);
        const double now = exporter.scrape().at(clock_of(0));
        CHECK(now - last >= 0.09);
        last = now;
    }
}

TEST_CASE("The content type is that of Prometheus' text format") {
    const Exporter exporter;
    const std::string answer = exporter.answer();
    CHECK_THAT(answer, ContainsSubstring("200 OK") &&
                           ContainsSubstring("Content-Type: text/plain") &&
                           ContainsSubstring("# TYPE metagroup_event_total counter"));
}

TEST_CASE("Only the metrics are served") {
    const Exporter exporter;
    CHECK_THAT(get(exporter.port(), "/"), ContainsSubstring("404"));
    CHECK_THAT(get(exporter.port(), "/../../etc/passwd"), !ContainsSubstring("root:"));
}

TEST_CASE("Scrapes at the same time get a sweep each") {
    constexpr int kClients = 8;
    constexpr int kScrapes = 10;
    Exporter exporter;
    std::vector<std::future<bool>> clients;
    for (int i = 0; i < kClients; ++i) {
        clients.push_back(std::async(std::launch::async, [&exporter] {
            double last = -1;
            for (int scrape = 0; scrape < kScrapes; ++scrape) {
                const double now = exporter.scrape().at(clock_of(0));
                if (now <= last) return false;
                last = now;
            }
            return true;
        }));
    }
    for (auto& client : clients)
        CHECK(client.get());
    CHECK(exporter.scrape().at("metagroup_sweeps_total") == kClients * kScrapes + 1);
}

TEST_CASE("An event that is counted twice is labelled with its group") {
    const Exporter exporter("{cpu-clock,page-faults},{cpu-clock,cpu-clock}");
    const std::string answer = exporter.answer();
    const Samples samples = samples_of(answer);
    std::string other = clock_of(0);
    other.replace(other.find("group=\"0\""), 9, "group=\"1\"");
    CHECK(samples.contains(other));
    const std::size_t line = answer.find(other);
    CHECK(answer.find(other, line + 1) == std::string::npos);
}

TEST_CASE("A signal ends the exporter, which prints the number of scrapes") {
    const int signal = GENERATE(SIGINT, SIGTERM);
    Exporter exporter;
    exporter.scrape();
    exporter.scrape();
    exporter.terminal().signal(signal);
    CHECK(exporter.terminal().end() == 0);
    CHECK(exporter.terminal().wrote("2 scrapes"));
}

TEST_CASE("A port that is in use is named, with the remedy") {
    const Exporter first;
    const std::string address = "127.0.0.1:" + std::to_string(first.port());
    tool_fails("export -e cpu-clock --listen " + address, {address, "in use", "--listen"});
}

TEST_CASE("An address that no interface has is named, with the reason") {
    tool_fails("export -e cpu-clock --listen 192.0.2.1:19468", {"192.0.2.1", "interface"});
}

TEST_CASE("A listen address that is not IPv4:PORT is refused with an example", "[no-module]") {
    for (const char* text : {"", "9468", "127.0.0.1", ":9468", "localhost:1", "[::1]:80", "1.2.3:4",
                             "1.2.3.4:65536", "1.2.3.4:-1", "1.2.3.4:80x", "1.2.3.4:"})
        tool_fails("export -e cpu-clock --listen '" + std::string(text) + "'", {"127.0.0.1:19468"});
}

TEST_CASE("By default only this machine can scrape") {
    CHECK_THAT(tool_output("export --help"), ContainsSubstring("127.0.0.1:19468"));
}

TEST_CASE("Counts never decrease, even if CPUs go offline", "[module]") {
    using metagroup::Backend;
    const Backend backend = GENERATE(Backend::module, Backend::per_fd);
    CAPTURE(metagroup::to_string(backend));
    if (metagroup::test::online_cpus().size() < 2) SKIP("needs two CPUs");
    metagroup::MetaGroup::Options what;
    what.groups = metagroup::parse_events("cpu-clock");
    what.cpus = metagroup::CpuList::online();
    what.backend = backend;
    what.start_disabled = true;
    tool::Counters counters(what);
    const auto sweep = [&] {
        ::usleep(100'000);
        counters.sweep();
        return counters.members()[1].values[0];
    };
    const double before = sweep();
    CHECK(before > 0);
    double during = 0;
    {
        const metagroup::test::OfflineCpu gone(1);
        during = sweep();
        CHECK(during >= before);
        CHECK(sweep() >= during);
        CHECK(counters.live().offline().contains(1));
    }
    sweep();
    const double back = sweep();
    CHECK(back >= during);
    CHECK(sweep() > back);
    CHECK_FALSE(counters.live().offline().contains(1));
}

TEST_CASE("With the module the exporter uses it", "[module]") {
    const Exporter exporter;
    CHECK(exporter.scrape().at("metagroup_backend_info{backend=\"module\",origin=\"set\"}") == 1);
}
