// SPDX-License-Identifier: MIT
// Snapshots made of a fuzzer's bytes, and the rules of all snapshots.
#pragma once

#include <vector>

#include "input.hpp"
#include "support/frame_builder.hpp"

namespace metagroup::fuzz {

/// Frames of members with rising numbers, as a kernel may return them.
std::vector<test::Frame> take_frames(Input& input);

/// Overwrites words in places that the rest of the input names.
void damage(test::Bytes& bytes, Input& input);

/// True if the numbers of the members rise, as they do unless damaged.
bool rising(const SnapshotView& view);

/// Decodes the bytes as a FRAMED read in all ways, or checks that all refuse them.
void decode(Bytes bytes);

}  // namespace metagroup::fuzz
