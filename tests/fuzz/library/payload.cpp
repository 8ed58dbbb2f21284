// SPDX-License-Identifier: MIT
// Any bytes as a payload of any read format.
#include <metagroup/payload.hpp>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "input.hpp"
#include "support/frame_builder.hpp"

namespace metagroup::fuzz {
namespace {

template <typename Call>
bool out_of_range(const Call& call) {
    try {
        static_cast<void>(call());
    } catch (const std::out_of_range&) {
        return true;
    }
    return false;
}

// True if the bytes are one payload of that format: computed independently of the decoder.
bool is_payload(Bytes bytes, std::uint64_t format) {
    if ((format & ~ReadFormat::all) != 0) return false;
    const std::uint64_t nr =
        (format & ReadFormat::group) != 0 ? Input(bytes).take<std::uint64_t>() : 1;
    const std::size_t most = bytes.size() / sizeof(std::uint64_t);
    return nr > 0 && nr <= most && bytes.size() == payload_size(format, nr);
}

test::Bytes encode(const Payload& payload) {
    std::vector<test::Event> events;
    for (std::size_t i = 0; i < payload.nr(); ++i) {
        events.push_back(
            {payload.value(i), payload.id(i).value_or(0), payload.lost(i).value_or(0)});
    }
    return test::payload(payload.read_format(), events, payload.time_enabled().value_or(0),
                         payload.time_running().value_or(0));
}

}  // namespace

void payload(Bytes input) {
    Input numbers(input);
    const std::uint64_t format = numbers.take<std::uint8_t>();
    const Bytes bytes = numbers.rest();

    const auto decoded = Payload::parse(bytes, format);
    demand(decoded.has_value() == is_payload(bytes, format), "only a payload is decoded");
    if (!decoded) return;

    const test::Bytes encoded = encode(*decoded);
    demand(std::ranges::equal(encoded, bytes), "a decoded payload encodes to the same bytes");
    for (const std::size_t beyond : {decoded->nr(), SIZE_MAX}) {
        demand(out_of_range([&] { return decoded->value(beyond); }) &&
                   out_of_range([&] { return decoded->id(beyond); }) &&
                   out_of_range([&] { return decoded->lost(beyond); }),
               "an event that is not there is an error");
    }
}

}  // namespace metagroup::fuzz
