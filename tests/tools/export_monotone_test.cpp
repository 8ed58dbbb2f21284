// SPDX-License-Identifier: MIT
// Scrapes while everything changes on which counts depend: no exported counter may decrease.
#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <deque>
#include <metagroup/device.hpp>
#include <random>
#include <stdexcept>

#include "exporter.hpp"
#include "support/background.hpp"
#include "support/cpus.hpp"
#include "support/testpmu.hpp"

using namespace metagroup::test;
using metagroup::Device;
using metagroup::Operation;
using metagroup::parse_events;

namespace {

// A client, with the page that it saw last.
class Client {
  public:
    explicit Client(const Exporter& exporter) : exporter_(&exporter) {}

    // \throws std::runtime_error that names what went back.
    void scrape() {
        const MetricsPage page = exporter_->page();
        for (const auto& [name, series] : page) {
            if (series.type == "gauge") continue;
            // Has the 64 bits of the largest count.
            const long double value = std::stold(series.value);
            auto& [last, text] = last_[name];
            if (value < last)
                throw std::runtime_error(name + " went back from " + text + " to " + series.value);
            last = value;
            text = series.value;
        }
        for (const auto& [name, value] : last_)
            if (!page.contains(name)) throw std::runtime_error(name + " vanished");
    }
    bool saw(const std::string& name) const { return last_.contains(name); }

  private:
    const Exporter* exporter_;
    std::map<std::string, std::pair<long double, std::string>> last_;  // and as it was written
};

// The shared PMU as it was.
struct PmuAtEnd {
    ~PmuAtEnd() {
        testpmu_set_counters(4);
        testpmu_set_read_failures(0);
        testpmu_set_backwards(false);
    }
};

// Makes a random change.
class Disturbance {
  public:
    explicit Disturbance(Device& owner, std::uint32_t member) : owner_(owner), member_(member) {}

    void operator()() {
        switch (std::uniform_int_distribution(0, 6)(random_)) {
            case 0:
                if (gone_)
                    gone_.reset();
                else
                    gone_.emplace(online_cpus().back());
                break;
            case 1:
                testpmu_set_counters(std::uniform_int_distribution(1U, 4U)(random_));
                break;
            case 2:
                testpmu_set_read_failures(std::uniform_int_distribution(0U, 3U)(random_));
                break;
            case 3:
                testpmu_set_backwards(std::bernoulli_distribution(0.2)(random_));
                break;
            case 4:
                owner_.control(Operation::reset);
                break;
            case 5:
                owner_.control(std::bernoulli_distribution()(random_) ? Operation::stop
                                                                      : Operation::start);
                break;
            default:
                owner_.set_events(member_,
                                  parse_events(std::bernoulli_distribution()(random_)
                                                   ? "{cpu-clock,page-faults}"
                                                   : "{cpu-clock,page-faults,context-switches}")
                                      .front()
                                      .events);
        }
        ::usleep(std::uniform_int_distribution(0U, 50'000U)(random_));
    }

  private:
    Device& owner_;
    std::uint32_t member_;
    std::optional<OfflineCpu> gone_;
    std::mt19937 random_{Catch::getSeed()};
};

}  // namespace

TEST_CASE("No exported counter ever decreases", "[machine][module]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    if (!testpmu_event(0)) SKIP("metagroup_testpmu is not loaded");
    const PmuAtEnd pmu;
    Device owner = Device::open();
    const auto set =
        owner.open_set(parse_events("{cpu-clock,page-faults}").front().events, {.follow = true});
    owner.control(Operation::start);
    owner.publish("monotone");
    std::string events = "cpu-clock,page-faults";
    for (const char name : {'a', 'b', 'c', 'd', 'e', 'f'})
        events += std::string(name == 'a' || name == 'd' ? ",{" : ",") +
                  "metagroup_test/config=0,name=" + name + "/" +
                  (name == 'b' || name == 'f' ? "}" : "");
    std::deque<Exporter> exporters;
    exporters.emplace_back(std::vector<std::string>{"-e", events, "--backend", "module"});
    exporters.emplace_back(std::vector<std::string>{"-e", events, "--backend", "per-fd"});
    exporters.emplace_back(std::vector<std::string>{"-e", "cpu-clock,page-faults", "--origin",
                                                    "set", "--labels", "event"});
    exporters.emplace_back(std::vector<std::string>{"--set", "monotone"});
    std::deque<Client> clients;
    std::deque<Background> scrapers;
    for (const Exporter& exporter : exporters) {
        for (int twice = 0; twice < 2; ++twice) {
            Client& client = clients.emplace_back(exporter);
            scrapers.emplace_back([&client] { client.scrape(); });
        }
    }
    unsigned changes = 0;
    {
        Disturbance disturb(owner, set.first);
        repeat_for(
            long_time(std::chrono::seconds(60)),
            [&] {
                disturb();
                ++changes;
                for (Exporter& exporter : exporters)
                    exporter.terminal().wrote("");  // so that it can write
            },
            [&] {
                return changes > 50 && std::ranges::all_of(scrapers, [](const auto& scraper) {
                           return scraper.rounds() > 20;
                       });
            });
    }
    unsigned scrapes = 0;
    for (Background& scraper : scrapers) {
        CHECK_NOTHROW(scraper.stop());
        CHECK(scraper.rounds() > 20);
        scrapes += scraper.rounds();
    }
    owner.unpublish("monotone");
    CHECK(clients.front().saw(clock_of(0)));
    CHECK(clients.front().saw("metagroup_events_total{event=\"a\",cpu=\"0\"}"));
    UNSCOPED_INFO(scrapes << " scrapes, " << changes << " changes");
    SUCCEED();
}
