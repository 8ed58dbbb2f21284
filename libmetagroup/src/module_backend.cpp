// SPDX-License-Identifier: MIT
// Backend::module: the kernel sweeps, one read(2) returns everything.

#include <array>
#include <cerrno>
#include <metagroup/mapping.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "backend.hpp"
#include "error.hpp"
#include "formatted.hpp"

namespace metagroup::detail {
namespace {

class ModuleReader final : public Reader {
  public:
    ModuleReader(Device device, Mode mode, std::size_t members) : device_(std::move(device)) {
        const std::size_t limit = device_.info().max_members;
        if (members > limit) {
            throw_errno(E2BIG, formatted("{} groups on all CPUs are {} more than the {} members "
                                         "that a meta-group can have: use fewer groups or CPUs",
                                         members, members - limit, limit));
        }
        device_.set_format(Format::framed);
        if (mode != Mode{}) device_.set_mode(mode);
        groups_.reserve(members);
    }

    void add(EventGroup group) override {
        groups_.push_back(std::move(group));
        if (groups_.size() - attached_ == batch) attach();
    }

    bool release_descriptors() override {
        if (attached_ == groups_.size()) return false;
        attach();
        return true;
    }

    std::uint32_t finish() override {
        release_descriptors();
        size_ = static_cast<std::size_t>(device_.info().framed_size);
        return first_;
    }

    void read(Snapshot& snapshot, std::span<const std::uint64_t> cpu_mask) override {
        // The size known from INFO, so that the first read does not need a second try.
        if (snapshot.capacity() < size_) snapshot.prepare(size_);
        if (cpu_mask.empty()) return device_.read(snapshot);
        device_.read(snapshot, cpu_mask);
    }

    SnapshotView sweep() override {
        if (!mapping_) mapping_.emplace(device_);
        device_.sweep();
        return mapping_->view();
    }

    void enable() override { device_.enable(); }
    void disable() override { device_.disable(); }
    void reset() override { device_.reset(); }
    std::size_t snapshot_size() const noexcept override { return size_; }

  private:
    // The module holds leaders by itself; only so many of their descriptors are open at a time.
    static constexpr std::size_t batch = 64;

    void attach() {
        std::array<int, batch> fds{};
        const std::size_t count = groups_.size() - attached_;
        for (std::size_t i = 0; i < count; ++i)
            fds[i] = groups_[attached_ + i].leader_fd();
        const std::uint32_t first = device_.attach(std::span(fds).first(count));
        if (attached_ == 0) first_ = first;
        for (; attached_ < groups_.size(); ++attached_)
            groups_[attached_].release_leader();
    }

    Device device_;
    std::optional<Mapping> mapping_;
    // Kept for the siblings' descriptors: closing one takes its event out of the group.
    std::vector<EventGroup> groups_;
    std::size_t attached_ = 0;
    std::uint32_t first_ = 0;
    std::size_t size_ = 0;
};

}  // namespace

std::unique_ptr<Reader> make_module_reader(Device device, Mode mode, std::size_t members) {
    return std::make_unique<ModuleReader>(std::move(device), mode, members);
}

}  // namespace metagroup::detail
