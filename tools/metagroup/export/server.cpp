// SPDX-License-Identifier: MIT
#include "export/server.hpp"

#include <fmt/format.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tool {
namespace {

constexpr const char* kText = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kOpenMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";

MHD_Result reply(MHD_Connection* connection, unsigned status, std::string text,
                 const char* type = "text/plain; charset=utf-8") {
    const std::unique_ptr<MHD_Response, decltype(&MHD_destroy_response)> response(
        MHD_create_response_from_buffer(text.size(), text.data(), MHD_RESPMEM_MUST_COPY),
        &MHD_destroy_response);
    if (!response) return MHD_NO;
    MHD_add_response_header(response.get(), MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response.get(), MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    return MHD_queue_response(connection, status, response.get());
}

MHD_Result answer(const Server::Page& page, MHD_Connection* connection, std::string_view path,
                  std::string_view method) {
    if (path != "/metrics") return reply(connection, MHD_HTTP_NOT_FOUND, "see /metrics\n");
    if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD)
        return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    const char* const accept =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    const Format format = format_for(accept == nullptr ? "" : accept);
    return reply(connection, MHD_HTTP_OK, page(format),
                 format == Format::text ? kText : kOpenMetrics);
}

// Empty for Unix sockets, whose clients have no address.
std::string client_of(MHD_Connection* connection) {
    const sockaddr* const address =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    const auto text = [](const auto& bytes) {
        return std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    };
    switch (address->sa_family) {
        case AF_INET:
            return text(reinterpret_cast<const sockaddr_in*>(address)->sin_addr);
        case AF_INET6:
            return text(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
        default:
            return {};
    }
}

int descriptor_of(MHD_Connection* connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

}  // namespace

struct Server::Service {
    Service(const Page& served, std::size_t most) : page(served), connections(most) {}

    const Page& page;
    Connections connections;
};

namespace {

// Called by the library when a connection begins and ends.
void notify(void* service, MHD_Connection* connection, void** /*state*/,
            MHD_ConnectionNotificationCode code) {
    Connections& connections = static_cast<Server::Service*>(service)->connections;
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        connections.opened(descriptor_of(connection), client_of(connection));
    else
        connections.closed(descriptor_of(connection));
}

// Called by the library twice per request: with its headers, and at its end.
MHD_Result handle(void* service, MHD_Connection* connection, const char* path, const char* method,
                  const char* /*version*/, const char* /*upload*/, std::size_t* upload_size,
                  void** state) {
    static char seen;
    if (*state == nullptr || *upload_size > 0) {
        *state = &seen;
        *upload_size = 0;
        return MHD_YES;
    }
    auto& [page, connections] = *static_cast<Server::Service*>(service);
    connections.served(descriptor_of(connection));
    try {
        return answer(page, connection, path, method);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "metagroup: %s\n", error.what());
        return reply(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "see the log of the exporter\n");
    }
}

}  // namespace

// Otherwise the library would close the socket, which belongs to the listener.
void Server::Stop::operator()(MHD_Daemon* daemon) const {
    MHD_quiesce_daemon(daemon);
    MHD_stop_daemon(daemon);
}

Server::Server(std::vector<Listener> listeners, Page page)
    : listeners_(std::move(listeners)), page_(std::move(page)) {
    const std::size_t limit = connection_limit(listeners_.size());
    for (const Listener& listener : listeners_) {
        // The library may accept several connections before it closes those that were shut down.
        services_.push_back(std::make_unique<Service>(page_, limit * 3 / 4));
        MHD_Daemon* const daemon = MHD_start_daemon(
            MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, 0, nullptr, nullptr, &handle,
            services_.back().get(), MHD_OPTION_LISTEN_SOCKET, listener.socket.get(),
            MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(limit), MHD_OPTION_NOTIFY_CONNECTION,
            &notify, services_.back().get(), MHD_OPTION_END);
        if (daemon == nullptr)
            throw std::runtime_error(fmt::format("cannot serve {}", listener.url));
        daemons_.emplace_back(daemon);
    }
}

Server::~Server() = default;

void Server::shut_late() {
    for (const auto& service : services_)
        service->connections.shut_late();
}

}  // namespace tool
