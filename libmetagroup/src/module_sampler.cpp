// SPDX-License-Identifier: MIT
// Backend::module: the kernel's timers, one ring for each CPU.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "diagnostics.hpp"
#include "format.hpp"
#include "sampler.hpp"

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
            if (running) device_.stop_stream();
        } catch (const std::exception&) {  // the stream ends with the last descriptor
        }
    }

    void start(const SamplerSubject& subject, const SamplerOptions& options) {
        perf_metagroup_stream stream{};
        stream.flags = options.overwrite ? PERF_METAGROUP_STREAM_OVERWRITE : 0;
        stream.period = options.period;
        stream.ring_size = options.ring_size;
        stream.watermark = options.watermark;
        stream = device_.start_stream(stream);
        running = true;
        first = stream.first;
        common = true;
        polled.push_back({device_.fd(), 0, 0});
        const std::vector<int> cpus = find_members(subject);
        rings.reserve(cpus.size());
        for (const int cpu : cpus)
            map(stream, cpu, options.overwrite ? Ring::Order::backward : Ring::Order::forward);
    }

    std::uint64_t stop() override {
        const std::uint64_t lost = device_.stop_stream();
        running = false;
        return lost;
    }

  private:
    // Fills in the origins. The members' CPUs, each once: uncore events may have moved.
    std::vector<int> find_members(const SamplerSubject& subject) {
        std::vector<int> cpus;
        describe(subject.groups);
        for (std::size_t i = 0; i < subject.members.size(); ++i) {
            const MemberInfo info = device_.member(subject.members[i].number);
            if (info.ids.empty()) continue;  // its CPU is gone
            origins.push_back({info.ids.front(), i, info.read_format});
            add_ids(subject.members[i].group, info.ids);
            cpus.push_back(info.cpu);
        }
        std::sort(cpus.begin(), cpus.end());
        cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
        return cpus;
    }

    // CPUs that are offline have no ring.
    void map(const perf_metagroup_stream& stream, int cpu, Ring::Order order) {
        try {
            rings.emplace_back(
                device_.fd(),
                stream.map_offset + static_cast<std::uint64_t>(cpu) * stream.map_stride,
                static_cast<std::size_t>(stream.map_stride), order,
                detail::format("the ring of CPU {}", cpu));
        } catch (const Error& error) {
            if (error.code().value() != ENODEV) throw;
        }
    }

    Device device_;
};

}  // namespace

std::shared_ptr<Sampler> start_module_sampler(const Device& device, const SamplerSubject& subject,
                                              const SamplerOptions& options) {
    // Another descriptor of the same handle, so that the rings outlive the meta-group.
    const int fd = ::fcntl(device.fd(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) throw_error(Call::start_stream, errno, "cannot start a stream");
    auto sampler = std::make_shared<ModuleSampler>(fd);
    sampler->start(subject, options);
    return sampler;
}

}  // namespace metagroup::detail
