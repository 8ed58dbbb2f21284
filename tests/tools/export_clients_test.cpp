// SPDX-License-Identifier: MIT
// Clients of metagroup export that are slow or many.
#include <sys/socket.h>

#include <array>

#include "export/connections.hpp"
#include "http.hpp"
#include "program.hpp"

namespace {

// The exporter with few descriptors, which clients cannot use up, and clients that send half a
// request and wait.
class CrowdedExporter {
  public:
    CrowdedExporter() {
        std::string line;
        REQUIRE(exporter_.shows("/metrics", &line));
        std::smatch found;
        REQUIRE(std::regex_search(line, found, std::regex(":(\\d+)/metrics")));
        port_ = static_cast<std::uint16_t>(std::stoi(found[1]));
    }
    void crowd(int clients) {
        constexpr std::string_view kHalf = "GET /metrics HTTP/1.1\r\nHost: ";
        for (int i = 0; i < clients; ++i) {
            clients_.push_back(connection("127.0.0.1", port_));
            REQUIRE(::send(clients_.back().get(), kHalf.data(), kHalf.size(), MSG_NOSIGNAL) > 0);
        }
    }
    void leave() { clients_.clear(); }
    // True if it sends one more byte.
    bool sends(std::size_t client) const {
        return ::send(clients_[client].get(), "x", 1, MSG_NOSIGNAL) == 1;
    }
    // Seconds until a whole request has its answer.
    double answer_time() const {
        const auto begin = std::chrono::steady_clock::now();
        CHECK(samples_of(get(port_, {}))
                  .contains("metagroup_event_seconds_total{event=\"cpu-clock\",cpu=\"0\"}"));
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }

  private:
    Pty exporter_{{"/bin/sh", "-c",
                   "ulimit -n 40; exec " METAGROUP_TOOL
                   " export -e cpu-clock -C 0 --listen 127.0.0.1:0"}};
    std::uint16_t port_ = 0;
    std::vector<metagroup::detail::UniqueFd> clients_;
};

}  // namespace

TEST_CASE("Complete requests are served while many clients have sent only half of theirs") {
    CrowdedExporter exporter;
    exporter.crowd(60);
    for (int i = 0; i < 10; ++i)
        CHECK(exporter.answer_time() < 2);
    exporter.leave();
    CHECK(exporter.answer_time() < 2);
}

TEST_CASE("A client that sends its request byte by byte is disconnected within seconds") {
    CrowdedExporter exporter;
    exporter.crowd(1);
    int seconds = 0;
    for (; seconds < 20 && exporter.sends(0); ++seconds)
        ::sleep(1);
    CHECK(seconds >= 5);
    CHECK(seconds < 10);
}

TEST_CASE("A new connection of a client address displaces only connections of that address",
          "[no-module]") {
    tool::Connections connections(100);
    std::vector<std::array<metagroup::detail::UniqueFd, 2>> pairs;
    const auto open = [&](const std::string& client) {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
        auto& pair = pairs.emplace_back();
        pair = {metagroup::detail::UniqueFd(ends[0]), metagroup::detail::UniqueFd(ends[1])};
        connections.opened(ends[0], client);
    };
    const auto is_open = [&](std::size_t i) {
        return ::send(pairs[i][1].get(), "x", 1, MSG_NOSIGNAL) == 1;
    };
    constexpr std::size_t kMost = tool::Connections::kMostOfClient;
    open("other");
    for (std::size_t i = 0; i <= kMost; ++i)
        open("same");
    CHECK(is_open(0));
    CHECK_FALSE(is_open(1));
    for (std::size_t i = 2; i <= kMost + 1; ++i)
        CHECK(is_open(i));
    // A client that has sent a request is not the one that has been silent for longest.
    connections.served(pairs[2][0].get());
    open("same");
    CHECK(is_open(2));
    CHECK_FALSE(is_open(3));
}
