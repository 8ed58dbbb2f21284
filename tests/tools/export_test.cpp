// SPDX-License-Identifier: MIT
// metagroup export, scraped like Prometheus.
#include <netdb.h>
#include <sys/socket.h>

#include <future>
#include <metagroup/version.hpp>
#include <optional>
#include <set>

#include "export/accept.hpp"
#include "export/counters.hpp"
#include "export/labels.hpp"
#include "export/scrape.hpp"
#include "exporter.hpp"
#include "support/cpus.hpp"

namespace {

// The names and labels of counts.
std::set<std::string> series_of(const Exporter& exporter) {
    std::set<std::string> names;
    for (const auto& [name, value] : exporter.scrape())
        if (name.starts_with("metagroup_event")) names.insert(name);
    return names;
}

bool has_ipv6() {
    return std::filesystem::exists("/proc/net/if_inet6") &&
           contents_of("/proc/net/if_inet6").find(" lo") != std::string::npos;
}

// A machine with two sockets of two cores of two CPUs.
struct TwoSockets {
    TwoSockets() {
        for (int cpu = 0; cpu < 8; ++cpu) {
            const std::string topology = "cpu/cpu" + std::to_string(cpu) + "/topology/";
            sysfs.file(topology + "physical_package_id", std::to_string(cpu / 2 % 2));
            sysfs.file(topology + "core_id", std::to_string(cpu % 2));
        }
    }
    tool::Labels labels(const std::vector<std::string>& names) const {
        return {names, metagroup::CpuList::parse("0-7"), sysfs.path()};
    }

    metagroup::test::TempTree sysfs;
};

std::string text_of(const tool::LabelSet& set) {
    std::string text;
    for (const auto& [name, value] : set)
        text += (text.empty() ? "" : ",") + name + "=" + value;
    return text;
}

}  // namespace

TEST_CASE("A scrape has each event of each CPU, in base units") {
    const Exporter exporter;
    const Samples samples = exporter.scrape();
    for (const int cpu : metagroup::CpuList::online()) {
        CAPTURE(cpu);
        REQUIRE(samples.contains(clock_of(cpu)));
        CHECK(samples.at(clock_of(cpu)) < 60);
        CHECK(samples.at("metagroup_cpus_online{cpu=\"" + std::to_string(cpu) + "\"}") == 1);
        CHECK(samples.contains("metagroup_events_total{event=\"page-faults\",cpu=\"" +
                               std::to_string(cpu) + "\"}"));
    }
    CHECK(samples.at("metagroup_event_running_seconds_total{event=\"page-faults\"}") > 0);
    CHECK(samples.at("metagroup_build_info{version=\"" METAGROUP_VERSION_STRING "\"}") == 1);
    CHECK(samples.at("metagroup_cpus_uncounted") == 0);
    CHECK(std::abs(samples.at("process_start_time_seconds") -
                   static_cast<double>(std::time(nullptr))) < 60);
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

TEST_CASE("The content type is that of the Prometheus text format") {
    const Exporter exporter;
    const std::string answer = exporter.answer();
    CHECK_THAT(answer, ContainsSubstring("200 OK") &&
                           ContainsSubstring("Content-Type: text/plain; version=0.0.4") &&
                           ContainsSubstring("# TYPE metagroup_events_total counter"));
}

TEST_CASE("A client that accepts OpenMetrics gets it") {
    const Exporter exporter;
    const std::string answer = exporter.answer(
        {.headers = "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n"});
    CHECK_THAT(answer, ContainsSubstring("Content-Type: application/openmetrics-text") &&
                           ContainsSubstring("# TYPE metagroup_events counter\n") &&
                           ContainsSubstring("\nmetagroup_events_total{") &&
                           ContainsSubstring("# TYPE metagroup_sweep_skew_seconds histogram\n"));
    CHECK(answer.ends_with("\n# EOF\n"));
}

TEST_CASE("The format is the one to which the client gives the highest weight", "[no-module]") {
    using tool::Format;
    const auto text = GENERATE(
        "", "*/*", "text/plain;q=0.9, application/openmetrics-text;q=0.1",
        "application/openmetrics-text;q=0", "application/openmetrics-text; q=0.0,*/*;q=0.1",
        "text/plain, Application/OpenMetrics-Text;version=1.0.0;q=0.999", "text/html");
    CAPTURE(text);
    CHECK(tool::format_for(text) == Format::text);
    const auto open_metrics =
        GENERATE("application/openmetrics-text", "application/*;q=0.9,text/plain;q=0.2",
                 "application/openmetrics-text;q=0.5,*/*;q=0.1",
                 "text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=0.0.1;q=0.75",
                 "text/plain , application/openmetrics-text",
                 "*/*;q=0.2,\tapplication/OPENMETRICS-text;Q=0.3");
    CAPTURE(open_metrics);
    CHECK(tool::format_for(open_metrics) == Format::open_metrics);
}

TEST_CASE("Only the metrics are served") {
    const Exporter exporter;
    CHECK_THAT(exporter.answer({.path = "/"}), ContainsSubstring("404"));
    CHECK_THAT(exporter.answer({.path = "/../../etc/passwd"}), !ContainsSubstring("root:"));
}

TEST_CASE("Metrics can be read with GET or HEAD, but not written") {
    const Exporter exporter;
    const std::string head = exporter.answer({.method = "HEAD"});
    CHECK_THAT(head, ContainsSubstring("200 OK") && !ContainsSubstring("# TYPE"));
    const std::string post = exporter.answer({.method = "POST"});
    CHECK_THAT(post, ContainsSubstring("405") && ContainsSubstring("Allow: GET, HEAD"));
}

TEST_CASE("Invalid HTTP, and clients that send nothing, do not stop the exporter") {
    const Exporter exporter;
    const auto silent = connection("127.0.0.1", exporter.port());
    CHECK_THAT(exporter.answer({.path = "\x01\xff", .method = "?"}), !ContainsSubstring("200 OK"));
    CHECK(exporter.scrape().contains(clock_of(0)));
}

TEST_CASE("Names and labels do not depend on the order and grouping of events") {
    const Exporter some("cpu-clock,page-faults,{context-switches,cpu-migrations}");
    const Exporter other("{cpu-migrations,page-faults,cpu-clock},context-switches");
    CHECK(series_of(some) == series_of(other));
    CHECK(series_of(some).size() == 4 * (number_online() + 9));
}

TEST_CASE("Events of groups with modifiers have separate series and rows") {
    const std::string events = "{page-faults,minor-faults}:u,{page-faults,minor-faults}:k";
    const Exporter exporter(events, "event");
    const std::string rows = tool_output("stat -x, -e '" + events + "' --timeout 10ms");
    for (const char* name :
         {"page-faults:u", "page-faults:k", "minor-faults:u", "minor-faults:k"}) {
        CHECK(exporter.scrape().contains("metagroup_events_total{event=\"" + std::string(name) +
                                         "\"}"));
        CHECK_THAT(rows, ContainsSubstring(",," + std::string(name) + ","));
    }
}

TEST_CASE("With only the label event, the counts of all CPUs are added up") {
    const Exporter exporter("cpu-clock,page-faults", "event");
    CHECK(series_of(exporter).size() == 2 * (1 + 9));
    const double before =
        exporter.scrape().at("metagroup_event_seconds_total{event=\"cpu-clock\"}");
    ::usleep(100'000);
    const Samples after = exporter.scrape();
    const auto cpus = static_cast<double>(number_online());
    CHECK(after.at("metagroup_event_seconds_total{event=\"cpu-clock\"}") - before >= 0.09 * cpus);
    CHECK(after.at("metagroup_cpus_online") == cpus);
}

TEST_CASE("CPUs with the same labels share one series", "[no-module]") {
    const TwoSockets machine;
    const tool::Labels sockets = machine.labels({"socket"});
    REQUIRE(sockets.sets().size() == 2);
    CHECK(text_of(sockets.sets()[sockets.index_of(6)]) == "socket=1");
    CHECK(sockets.index_of(0) == sockets.index_of(5));
    const tool::Labels cpus = machine.labels({"cpu", "socket", "node"});
    CHECK(cpus.sets().size() == 8);
    CHECK(text_of(cpus.sets()[cpus.index_of(7)]) == "cpu=7,socket=1,node=0");
    CHECK(machine.labels({"event"}).sets().size() == 1);
}

TEST_CASE("A core has the labels of its die and socket as well", "[no-module]") {
    const TwoSockets machine;
    const tool::Labels cores = machine.labels({"core"});
    REQUIRE(cores.sets().size() == 4);
    CHECK(text_of(cores.sets()[cores.index_of(7)]) == "socket=1,die=0,core=1");
    CHECK(cores.index_of(3) == cores.index_of(7));
}

TEST_CASE("A CPU whose topology is unknown has labels that say so", "[no-module]") {
    TwoSockets machine;
    for (const char* offline : {"cpu/cpu8/online", "cpu/cpu9/online"})
        machine.sysfs.file(offline, "0");
    const tool::Labels sockets({"socket"}, metagroup::CpuList::parse("0-9"), machine.sysfs.path());
    REQUIRE(sockets.sets().size() == 3);
    CHECK(text_of(sockets.sets()[sockets.index_of(8)]) == "socket=unknown");
    CHECK(sockets.index_of(8) == sockets.index_of(9));
    const tool::Labels cores({"cpu", "core"}, metagroup::CpuList::parse("0,8"),
                             machine.sysfs.path());
    CHECK(text_of(cores.sets()[cores.index_of(0)]) == "cpu=0,socket=0,die=0,core=0");
    CHECK(text_of(cores.sets()[cores.index_of(8)]) ==
          "cpu=8,socket=unknown,die=unknown,core=unknown");
}

TEST_CASE("Units are converted to base units if they have one", "[no-module]") {
    CHECK(tool::base_unit("ns").name == "seconds");
    CHECK(tool::base_unit("ns").factor == 1e-9);
    CHECK(tool::base_unit("Joules").name == "joules");
    CHECK(tool::base_unit("MiB").name == "bytes");
    CHECK(tool::base_unit("MiB").factor == 1 << 20);
    CHECK(tool::base_unit("").name.empty());
    CHECK(tool::base_unit("C/s").name == "c_s");
}

TEST_CASE("The exporter reports the number of time series if there are many") {
    std::string events;
    for (int i = 0; i < 85; ++i)
        events += (i > 0 ? "," : "") + ("software/config=9,name=e" + std::to_string(i)) + "/";
    const bool many = GENERATE(true, false);
    const std::size_t series = 85 * ((many ? number_online() : 1) + 9);
    if (many && number_online() < 2) SKIP("needs two CPUs");
    Exporter exporter(events, many ? "cpu" : "event");
    CHECK(exporter.terminal().wrote(std::to_string(series) + " time series") == (series > 1000));
}

TEST_CASE("Concurrent scrapes each get their own sweep") {
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

TEST_CASE("An event that is in several groups is counted once") {
    const Exporter exporter("{cpu-clock,page-faults},{cpu-clock,cpu-clock}");
    const std::string answer = exporter.answer();
    const std::size_t line = answer.find(clock_of(0));
    REQUIRE(line != std::string::npos);
    CHECK(answer.find(clock_of(0), line + 1) == std::string::npos);
    CHECK(samples_of(answer).at(clock_of(0)) < 60);
}

TEST_CASE("Different events with the same name are refused, and the remedy is named") {
    tool_fails("export -e software/config=2,name=x/,software/config=3,name=x/ --listen 127.0.0.1:0",
               {"\"x\"", "name="});
}

TEST_CASE("A name that is not UTF-8 is refused, because no page may contain it") {
    tool_fails("export -e \"software/config=2,name=$(printf '\\366')/\" --listen 127.0.0.1:0",
               {"UTF-8", "name="});
}

TEST_CASE("The exporter listens on IPv6 addresses, and on all addresses") {
    if (!has_ipv6()) SKIP("there is no IPv6 address here");
    const Exporter six("cpu-clock", "cpu", "[::1]");
    CHECK_THAT(six.answer({.host = "::1"}), ContainsSubstring(clock_of(0)));
    CHECK(six.answer().empty());
    const Exporter all("cpu-clock", "cpu", "");
    CHECK_THAT(all.answer({.host = "::1"}), ContainsSubstring(clock_of(0)));
    CHECK_THAT(all.answer(), ContainsSubstring(clock_of(0)));
}

TEST_CASE("The exporter listens on each address that is given") {
    Pty terminal({METAGROUP_TOOL, "export", "-e", "cpu-clock", "--listen", "127.0.0.1:0",
                  "--listen", "127.0.0.2:0"});
    REQUIRE(terminal.shows("127.0.0.2:"));
    CHECK(terminal.wrote("127.0.0.1:"));
}

TEST_CASE("The exporter listens on the address of a host name") {
    addrinfo* found = nullptr;
    if (::getaddrinfo("localhost", nullptr, nullptr, &found) != 0)
        SKIP("localhost has no address here");
    ::freeaddrinfo(found);
    Pty named({METAGROUP_TOOL, "export", "-e", "cpu-clock", "--listen", "localhost:0"});
    CHECK(named.shows("/metrics"));
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

TEST_CASE("A port that is in use is named with the remedy") {
    const Exporter first;
    const std::string address = "127.0.0.1:" + std::to_string(first.port());
    tool_fails("export -e cpu-clock --listen " + address, {address, "in use", "--listen"});
}

TEST_CASE("An address that no interface has is named with the reason") {
    tool_fails("export -e cpu-clock --listen 192.0.2.1:19468", {"192.0.2.1", "interface"});
}

TEST_CASE("A listen address without host or port is refused with an example", "[no-module]") {
    for (const char* text : {"", "9468", "127.0.0.1", "::1:80", "[::1]", "[127.0.0.1]:80",
                             "1.2.3.4:65536", "1.2.3.4:-1", "1.2.3.4:80x", "1.2.3.4:"})
        tool_fails("export -e cpu-clock --listen '" + std::string(text) + "'", {"127.0.0.1:19468"});
}

TEST_CASE("A host without an address is named", "[no-module]") {
    tool_fails("export -e cpu-clock --listen nowhere.invalid:1", {"nowhere.invalid", "numeric"});
}

TEST_CASE("An unknown label is refused with a list of the known labels", "[no-module]") {
    tool_fails("export -e cpu-clock --labels cpu,rack", {"rack", "socket"});
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
        return counters.events().at("cpu-clock").counters.at(1).count.value();
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

TEST_CASE(
    "The exporter reports once that a CPU came online after the start, and has a metric for it",
    "[machine]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    const int last = metagroup::test::online_cpus().back();
    std::optional<metagroup::test::OfflineCpu> gone(last);
    Exporter exporter;
    CHECK(exporter.scrape().at("metagroup_cpus_uncounted") == 0);
    gone.reset();
    for (int scrape = 0; scrape < 2; ++scrape)
        CHECK(exporter.scrape().at("metagroup_cpus_uncounted") == 1);
    const std::string message = "CPU " + std::to_string(last) + " came online";
    exporter.terminal().signal(SIGTERM);
    CHECK(exporter.terminal().end() == 0);
    const std::string text = exporter.terminal().screen();
    const std::size_t first = text.find(message);
    REQUIRE(first != std::string::npos);
    CHECK(text.find(message, first + 1) == std::string::npos);
}

TEST_CASE("The exporter uses the module if it is loaded", "[module]") {
    const Exporter exporter;
    CHECK(exporter.scrape().at("metagroup_backend_info{backend=\"module\",origin=\"groups\"}") ==
          1);
}
