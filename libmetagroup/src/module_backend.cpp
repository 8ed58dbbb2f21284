// SPDX-License-Identifier: MIT
// Backend::module: the kernel sweeps, and one read(2) returns all counts; for streams, its timers
// fill one ring per CPU.
#include <fcntl.h>
#include <sys/ioctl.h>

#include <array>
#include <cerrno>
#include <metagroup/mapping.hpp>
#include <optional>
#include <set>
#include <utility>

#include "backend.hpp"
#include "diagnostics.hpp"
#include "format.hpp"
#include "system.hpp"

namespace metagroup::detail {
namespace {

class ModuleSampler final : public Sampler {
  public:
    explicit ModuleSampler(int fd) : device_(fd) {}
    ModuleSampler(const ModuleSampler&) = delete;
    ModuleSampler& operator=(const ModuleSampler&) = delete;
    ModuleSampler(ModuleSampler&&) = delete;
    ModuleSampler& operator=(ModuleSampler&&) = delete;
    ~ModuleSampler() override {
        try {
            if (running && !inherited()) device_.stop_stream();
        } catch (const std::exception&) {  // closing the last descriptor ends the stream
        }
    }

    void start(const SamplerSubject& subject, const SamplerOptions& options) {
        stream_.flags = options.overwrite ? PERF_METAGROUP_STREAM_OVERWRITE : 0;
        stream_.period = options.period;
        stream_.ring_size = options.ring_size;
        stream_.watermark = options.watermark;
        stream_ = device_.start_stream(stream_);
        running = true;
        first = stream_.first;
        common = true;
        poll_fds.push_back({device_.fd(), 0, 0});
        describe(subject.groups);
        std::set<int> cpus;  // not from the subject: uncore events may have been moved
        for (std::size_t i = 0; i < subject.members.size(); ++i) {
            const MemberInfo info = device_.member(subject.members[i].number);
            numbers_.push_back(info.member);
            if (info.ids.empty()) continue;  // its CPU is gone
            sources.push_back({info.ids.front(), i, info.read_format});
            add_ids(subject.members[i].group, info.ids);
            cpus.insert(info.cpu);
        }
        for (const int cpu : cpus)
            map(cpu);
    }

    std::uint64_t stop() override {
        // Rings that are not mapped are freed with the stream.
        for (SampleSource& source : sources)
            source.seen = false;
        follow_members();
        running = false;
        return device_.stop_stream();
    }

    // The module creates a ring for the new CPU within about 10 ms.
    void follow_members() override {
        for (SampleSource& source : sources) {
            if (std::exchange(source.seen, false)) continue;
            perf_metagroup_member member{};
            member.size = sizeof(member);
            member.member = numbers_[source.index];
            // Fails for a detached member, which has no records. Does not allocate.
            if (uninterrupted([&] {
                    return ::ioctl(device_.fd(), PERF_METAGROUP_IOC_GET_MEMBER, &member);
                }) == 0)
                map(static_cast<int>(member.cpu));
        }
    }

  private:
    // Does nothing if already mapped. A CPU that is offline, or to which a member has just been
    // moved, has no ring.
    void map(int cpu) {
        if (mapped_.contains(cpu)) return;
        try {
            rings.emplace_back(
                device_.fd(),
                stream_.map_offset + static_cast<std::uint64_t>(cpu) * stream_.map_stride,
                static_cast<std::size_t>(stream_.map_stride),
                (stream_.flags & PERF_METAGROUP_STREAM_OVERWRITE) != 0 ? Ring::Order::backward
                                                                       : Ring::Order::forward,
                detail::format("the ring of CPU {}", cpu));
            mapped_.insert(cpu);
        } catch (const Error& error) {
            if (error.code().value() != ENODEV) throw;
        }
    }

    Device device_;
    perf_metagroup_stream stream_{};
    std::vector<std::uint32_t> numbers_;  // member numbers, by index
    std::set<int> mapped_;                // CPUs
};

std::shared_ptr<Sampler> start_module_sampler(const Device& device, const SamplerSubject& subject,
                                              const SamplerOptions& options) {
    // A second descriptor of the same handle, so that the rings outlive the meta-group.
    const int fd = ::fcntl(device.fd(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) throw_error(Call::start_stream, errno, "cannot start a stream");
    auto sampler = std::make_shared<ModuleSampler>(fd);
    sampler->start(subject, options);
    return sampler;
}

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
        // The size from INFO, so that the first read fits.
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
    void publish(const std::string& name, unsigned mode,
                 std::optional<std::uint32_t> gid) override {
        device_.publish(name, mode, gid);
    }
    MemberInfo member(std::uint32_t number) const override { return device_.member(number); }
    std::size_t snapshot_size() const noexcept override { return size_; }

    std::shared_ptr<Sampler> start_sampler(const SamplerSubject& subject,
                                           const SamplerOptions& options) override {
        return start_module_sampler(device_, subject, options);
    }

  private:
    // How many leader descriptors are open at a time: the module keeps attached leaders alive.
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
    // Keeps the siblings' descriptors: closing one removes its event from the group.
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
