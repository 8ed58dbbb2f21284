// SPDX-License-Identifier: MIT
// Backend::module: the kernel sweeps, one read(2) returns everything.
#include <array>
#include <cerrno>
#include <metagroup/mapping.hpp>

#include "backend.hpp"
#include "diagnostics.hpp"
#include "format.hpp"

namespace metagroup::detail {
namespace {

class ModuleReader final : public Reader {
  public:
    ModuleReader(Device device, Mode mode, std::size_t members) : device_(std::move(device)) {
        const std::size_t limit = device_.info().max_members;
        if (members > limit)
            throw_error(Call::attach, E2BIG,
                        detail::format("cannot open a meta-group of {} members", members),
                        {.limit = limit});
        device_.set_format(Format::framed);
        if (mode != Mode{}) device_.set_mode(mode);
        groups_.reserve(members);
    }

    Backend backend() const noexcept override { return Backend::module; }

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

    void read(Snapshot& snapshot, const CpuList* cpus) override {
        // Sized by INFO, so that the first read fits.
        if (snapshot.capacity() < size_) snapshot.prepare(size_);
        if (cpus == nullptr) return device_.read(snapshot);
        device_.read(snapshot, *cpus);
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

    std::shared_ptr<Sampler> start_sampler(const SamplerSubject& subject,
                                           const SamplerOptions& options) override {
        return start_module_sampler(device_, subject, options);
    }

  private:
    // Leaders whose descriptors are open at a time: the module keeps attached ones alive.
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
