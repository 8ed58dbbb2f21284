// SPDX-License-Identifier: MIT
#include <exception>
#include <metagroup/live_group.hpp>
#include <set>
#include <utility>

namespace metagroup {

LiveGroup LiveGroup::open(MetaGroup::Options options) {
    if (options.origin == EventOrigin::set) options.follow = true;
    // Pinned groups need the counters of the old groups, which reopen() closes first.
    options.start_disabled = true;
    LiveGroup live(std::move(options));
    live.start();
    return live;
}

LiveGroup::LiveGroup(MetaGroup::Options options)
    : options_(std::move(options)), group_(MetaGroup::open(options_)), opened_(group_.cpus()) {
    options_.cpus = group_.cpus();
}

void LiveGroup::start() {
    older_ = newer_ = Snapshot();  // from other members
    group_.enable();
    group_.read(newer_);
    older_ = newer_;
}

void LiveGroup::read() {
    group_.read(older_);  // newer_ stays valid if this throws
    older_.swap(newer_);
}

CpuList LiveGroup::offline() const {
    std::set<int> gone;
    for (const int cpu : *options_.cpus)
        if (!opened_.contains(cpu)) gone.insert(cpu);
    for (std::size_t i = 0; i < newer_.size(); ++i)
        if (newer_[i].status() == Status::offline) gone.insert(group_.members()[i].cpu);
    return CpuList({gone.begin(), gone.end()});
}

// The module itself reopens the events of sets soon after their CPU comes online.
void LiveGroup::find_reopen_error(const CpuList& online) {
    for (std::size_t i = 0; i < newer_.size() && reopen_error_.empty(); ++i)
        if (newer_[i].status() == Status::offline && online.contains(group_.members()[i].cpu))
            reopen_error_ = group_.reopen_error(i);
}

bool LiveGroup::reopen() {
    reopen_error_.clear();
    const CpuList gone = offline();
    if (gone.empty()) return false;
    bool replaced = false;
    try {
        const CpuList online = CpuList::online();
        if (gone.intersect(online).empty()) return false;
        if (group_.origin() != EventOrigin::groups) {
            find_reopen_error(online);
            return false;
        }
        MetaGroup::Options options = options_;
        options.cpus = options_.cpus->intersect(online);
        group_ = MetaGroup::open(options);
        replaced = true;
        opened_ = std::move(*options.cpus);
        start();
    } catch (const std::exception& error) {
        reopen_error_ = error.what();
    }
    return replaced;
}

}  // namespace metagroup
