// SPDX-License-Identifier: MIT
// The rules of every list of events and of every snapshot, and snapshots made of a fuzzer's bytes.
#pragma once

#include <string_view>
#include <vector>

#include "input.hpp"
#include "support/frame_builder.hpp"
#include "system.hpp"

namespace metagroup::fuzz {

/// Reads the list on that system, or has it refused with a place in the text.
void read_events(std::string_view text, const detail::SystemPaths& paths);

/// Frames of members with rising numbers, as a kernel may return them.
std::vector<test::Frame> take_frames(Input& input);

/// Overwrites words in places that the rest of the input names.
void damage(test::Bytes& bytes, Input& input);

/// True if the numbers of the members rise, as they do unless damaged.
bool rising(const SnapshotView& view);

/// A target: any bytes as a perf.data file, which is read to its end or refused.
void recording(Bytes input);

/// Decodes the bytes as a FRAMED read in all ways, or checks that all refuse them.
void decode(Bytes bytes);

}  // namespace metagroup::fuzz
