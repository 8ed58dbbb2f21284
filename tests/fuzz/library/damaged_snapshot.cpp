// SPDX-License-Identifier: MIT
// A FRAMED read as a kernel makes it, which must show what was put in; then damaged and cut off.
#include <algorithm>

#include "snapshot_rules.hpp"

namespace metagroup::fuzz {
namespace {

void hold_contents(const SnapshotView& view, const std::vector<test::Frame>& frames) {
    demand(view.size() == frames.size(), "every frame is a record");
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const test::Frame& frame = frames[i];
        const MemberView member = view[i];
        demand(member.member() == frame.member && member.cpu() == static_cast<int>(frame.cpu) &&
                   member.time_ns() == frame.time && member.read_format() == frame.read_format,
               "a record shows what was put into it");
        demand(std::ranges::equal(member.payload_bytes(), frame.payload),
               "a payload is what was put in");
        demand(member.payload().has_value() == !frame.payload.empty(),
               "every payload can be decoded");
    }
}

}  // namespace

void damaged_snapshot(Bytes input) {
    Input numbers(input);
    const std::vector<test::Frame> frames = take_frames(numbers);
    const std::uint32_t extra = 8U * numbers.below(3);
    test::Bytes bytes = test::framed(frames, 1000, 2000, extra);
    hold_contents(SnapshotView(bytes), frames);
    decode(bytes);

    const std::size_t cut = numbers.take<std::uint8_t>();
    damage(bytes, numbers);
    bytes.resize(bytes.size() - std::min(cut, bytes.size()));
    bytes.shrink_to_fit();
    decode(bytes);
}

}  // namespace metagroup::fuzz
