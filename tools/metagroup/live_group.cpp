// SPDX-License-Identifier: MIT
#include "live_group.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>
#include <vector>

namespace tool {
namespace {

using metagroup::CpuList;

CpuList without(const CpuList& list, const CpuList& others) {
    std::vector<int> rest;
    std::ranges::copy_if(list, std::back_inserter(rest),
                         [&](int cpu) { return !others.contains(cpu); });
    return CpuList(std::move(rest));
}

}  // namespace

LiveGroup::LiveGroup(metagroup::MetaGroup::Options what)
    : what_(std::move(what)), wanted_(what_.cpus), group_(metagroup::MetaGroup::open(what_)) {
    begin();
}

void LiveGroup::begin() {
    group_.enable();
    group_.read(newer_);
    older_ = newer_;
}

void LiveGroup::read() {
    group_.read(older_);  // if it fails, the last one is as it was
    older_.swap(newer_);
    note_offline();
}

void LiveGroup::note_offline() {
    const CpuList left_out = without(wanted_, what_.cpus);
    std::vector<int> gone(left_out.begin(), left_out.end());
    for (std::size_t i = 0; i < newer_.size(); ++i) {
        const int cpu = group_.members()[i].cpu;
        const bool lost = newer_[i].status() == metagroup::Status::offline || stands_still(i);
        if (lost && std::ranges::find(gone, cpu) == gone.end()) gone.push_back(cpu);
    }
    offline_ = CpuList(std::move(gone));
}

// Without the module nobody tells of a CPU that went and came back between two sweeps.
bool LiveGroup::stands_still(std::size_t member) const {
    if (group_.backend() != metagroup::Backend::per_fd) return false;
    if (newer_[member].status() != metagroup::Status::ok) return false;
    const metagroup::MemberDelta since = delta()[member];
    return since.elapsed_ns() > 0U && since.time_enabled() == 0U;
}

bool LiveGroup::revive() {
    problem_.clear();
    if (offline_.empty()) return false;
    const CpuList online = CpuList::online();
    if (offline_.intersect(online).empty()) return false;
    try {
        metagroup::MetaGroup::Options what = what_;
        what.cpus = wanted_.intersect(online);
        group_ = metagroup::MetaGroup::open(what);
        what_ = std::move(what);
    } catch (const std::exception& error) {
        problem_ = error.what();  // it may have gone again: the next look is soon
        return false;
    }
    begin();
    offline_ = without(wanted_, what_.cpus);
    return true;
}

}  // namespace tool
