// SPDX-License-Identifier: MIT
#include "instructions.hpp"

#include <map>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <system_error>
#include <vector>

namespace bench {
namespace {

class SlowMotionInstructions : public InstructionCounter {
  public:
    explicit SlowMotionInstructions(const SlowMotion& page) : page_(page) {}
    Count read(int cpu) override {
        return {.kernel = page_.kernel_instructions(cpu),
                .user = page_.user_instructions(cpu),
                .tick = page_.tick_instructions(cpu)};
    }

  private:
    const SlowMotion& page_;
};

class HardwareInstructions : public InstructionCounter {
  public:
    explicit HardwareInstructions(const metagroup::CpuList& cpus) {
        const auto groups = metagroup::parse_events("{instructions:k,instructions:u}");
        for (const int cpu : cpus) {
            const auto [group, is_new] =
                groups_.emplace(cpu, metagroup::EventGroup::open(groups.front(), cpu));
            group->second.enable();
        }
    }
    Count read(int cpu) override {
        metagroup::EventGroup& group = groups_.at(cpu);
        std::vector<std::byte> bytes(group.payload_size());
        group.read(bytes);
        const auto payload = metagroup::Payload::parse(bytes, group.read_format()).value();
        return {.kernel = payload.value(0), .user = payload.value(1), .tick = 0};
    }

  private:
    std::map<int, metagroup::EventGroup> groups_;
};

}  // namespace

std::unique_ptr<InstructionCounter> InstructionCounter::open(const metagroup::CpuList& cpus,
                                                             const SlowMotion* slow_motion) {
    if (slow_motion != nullptr) return std::make_unique<SlowMotionInstructions>(*slow_motion);
    try {
        return std::make_unique<HardwareInstructions>(cpus);
    } catch (const std::system_error&) {
        return nullptr;  // no such counters
    }
}

}  // namespace bench
