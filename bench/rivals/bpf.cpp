// SPDX-License-Identifier: MIT
// A BPF program on each CPU reads that CPU's events into a per-CPU map, as that of `perf stat
// --bpf-counters` does: BPF_PROG_TEST_RUN runs it on one CPU after the other, by an interrupt each,
// and one lookup in the map brings all counts. BPF reads single events, not groups: each is opened
// by itself and read by a call of its own, and those of one CPU need not be counted together.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <metagroup/detail/unique_fd.hpp>
#include <string>
#include <system_error>

#include "rivals/skew.hpp"
#include "rivals/ways.hpp"

namespace bench {
namespace {

using metagroup::detail::UniqueFd;

UniqueFd checked(int fd, const char* what) {
    if (fd < 0) throw std::system_error(-fd, std::generic_category(), what);
    return UniqueFd(fd);
}

std::vector<metagroup::GroupSpec> each_by_itself(const std::vector<metagroup::GroupSpec>& specs) {
    std::vector<metagroup::GroupSpec> singles;
    for (const metagroup::GroupSpec& spec : specs) {
        for (const metagroup::EventSpec& event : spec.events)
            singles.push_back({.events = {event}});
    }
    return singles;
}

// The instructions of eBPF that the program needs; libbpf has no names for them.
// What to do, to what, and with what, as in BPF_ADD | BPF_K, which is 0 altogether:
// NOLINTBEGIN(misc-redundant-expression)
class Program {
  public:
    void move(std::uint8_t to, std::uint8_t from) { add({BPF_ALU64 | BPF_MOV | BPF_X, to, from}); }
    void set(std::uint8_t to, int value) { add({BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value}); }
    void increase(std::uint8_t to, int value) {
        add({BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value});
    }
    void load(std::uint8_t to, std::uint8_t from, std::int16_t offset) {
        add({BPF_LDX | BPF_MEM | BPF_DW, to, from, offset});
    }
    void store(std::uint8_t to, std::int16_t offset, int value) {
        add({BPF_ST | BPF_MEM | BPF_W, to, 0, offset, value});
    }
    void load_map(std::uint8_t to, const UniqueFd& map) {
        add({BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, map.get()});
        add({});
    }
    void call(int helper) { add({BPF_JMP | BPF_CALL, 0, 0, 0, helper}); }
    void skip_if_zero(std::uint8_t value, std::int16_t count) {
        add({BPF_JMP | BPF_JEQ | BPF_K, value, 0, count, 0});
    }
    void skip_unless_zero(std::uint8_t value, std::int16_t count) {
        add({BPF_JMP | BPF_JNE | BPF_K, value, 0, count, 0});
    }
    void leave() { add({BPF_JMP | BPF_EXIT}); }

    UniqueFd load_as_raw_tracepoint() const {
        const int fd = ::bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "metagroup_read",
                                       "Dual MIT/GPL", code_.data(), code_.size(), nullptr);
        return checked(fd, "loading a BPF program");
    }

  private:
    struct Instruction {
        int code = 0;
        std::uint8_t to = 0;
        std::uint8_t from = 0;
        std::int16_t offset = 0;
        int value = 0;
    };
    void add(Instruction one) {
        bpf_insn& insn = code_.emplace_back();
        insn.code = static_cast<std::uint8_t>(one.code);
        insn.dst_reg = one.to & 0xFU;
        insn.src_reg = one.from & 0xFU;
        insn.off = one.offset;
        insn.imm = one.value;
    }

    std::vector<bpf_insn> code_;
};
// NOLINTEND(misc-redundant-expression)

// `count` events, of which the first one's place in the map of events is the argument, to the value
// of this CPU. Returns 0, or the error of the event that could not be read.
UniqueFd load_reader(const UniqueFd& events, const UniqueFd& values, int count) {
    constexpr int size = sizeof(bpf_perf_event_value);
    constexpr std::int16_t key = -4;
    Program program;
    program.load(BPF_REG_6, BPF_REG_1, 0);
    program.store(BPF_REG_10, key, 0);
    program.load_map(BPF_REG_1, values);
    program.move(BPF_REG_2, BPF_REG_10);
    program.increase(BPF_REG_2, key);
    program.call(BPF_FUNC_map_lookup_elem);
    program.skip_unless_zero(BPF_REG_0, 1);
    program.leave();
    program.move(BPF_REG_7, BPF_REG_0);
    for (int i = 0; i < count; ++i) {
        program.load_map(BPF_REG_1, events);
        program.move(BPF_REG_2, BPF_REG_6);
        program.increase(BPF_REG_2, i);
        program.move(BPF_REG_3, BPF_REG_7);
        program.increase(BPF_REG_3, i * size);
        program.set(BPF_REG_4, size);
        program.call(BPF_FUNC_perf_event_read_value);
        program.skip_if_zero(BPF_REG_0, 1);
        program.leave();
    }
    program.leave();
    return program.load_as_raw_tracepoint();
}

// What the kernel charges for a map or program.
std::size_t memlock_of(const UniqueFd& fd) {
    std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd.get()));
    std::string word;
    while (info >> word && word != "memlock:") {
    }
    std::size_t bytes = 0;
    info >> bytes;
    return bytes;
}

class Bpf : public Rival {
  public:
    explicit Bpf(Subject& subject)
        : groups_(each_by_itself(subject.specs()), subject.cpus()),
          per_cpu_(groups_.all().size() / subject.cpus().size()),
          possible_(static_cast<std::size_t>(::libbpf_num_possible_cpus())),
          results_(possible_ * per_cpu_) {
        ::libbpf_set_print(nullptr);
        const auto number = static_cast<std::uint32_t>(groups_.all().size());
        const auto value = static_cast<std::uint32_t>(per_cpu_ * sizeof(bpf_perf_event_value));
        events_ = checked(::bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, "metagroup_event",
                                           sizeof(std::uint32_t), sizeof(int), number, nullptr),
                          "making a BPF map of perf events (are you root?)");
        values_ = checked(::bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "metagroup_value",
                                           sizeof(std::uint32_t), value, 1, nullptr),
                          "making a per-CPU BPF map");
        for (std::uint32_t i = 0; i < number; ++i) {
            const int fd = groups_.all()[i].leader_fd();
            if (::bpf_map_update_elem(events_.get(), &i, &fd, BPF_ANY) != 0)
                throw std::system_error(errno, std::generic_category(),
                                        "putting a perf event into a BPF map");
        }
        program_ = load_reader(events_, values_, static_cast<int>(per_cpu_));
    }

    measure::CpuGroups* groups() override { return &groups_; }
    void sweep() override {
        visit([] {});
    }
    std::vector<std::uint64_t> counts() const override {
        std::vector<std::uint64_t> counts;
        for (const int cpu : groups_.cpus()) {
            for (std::size_t i = 0; i < per_cpu_; ++i)
                counts.push_back(results_[static_cast<std::size_t>(cpu) * per_cpu_ + i].counter);
        }
        return counts;
    }
    std::optional<std::uint64_t> skew_ns() override {
        Skew skew;
        visit([&] { skew.note(monotonic_ns()); });
        return skew.ns();
    }
    std::optional<std::size_t> memory_bytes() const override {
        return results_.size() * sizeof(results_[0]) + memlock_of(events_) + memlock_of(values_) +
               memlock_of(program_);
    }

  private:
    template <typename Note>
    void visit(const Note& note) {
        const auto cpus = groups_.cpus().cpus();
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            run_on(cpus[i], i * per_cpu_);
            note();
        }
        const std::uint32_t key = 0;
        if (::bpf_map_lookup_elem(values_.get(), &key, results_.data()) != 0)
            throw std::system_error(errno, std::generic_category(), "looking up a BPF map");
    }

    void run_on(int cpu, std::uint64_t first_event) {
        bpf_test_run_opts options{};
        options.sz = sizeof(options);
        options.ctx_in = &first_event;
        options.ctx_size_in = sizeof(first_event);
        options.flags = BPF_F_TEST_RUN_ON_CPU;
        options.cpu = static_cast<std::uint32_t>(cpu);
        if (::bpf_prog_test_run_opts(program_.get(), &options) != 0)
            throw std::system_error(errno, std::generic_category(), "BPF_PROG_TEST_RUN");
        if (options.retval != 0)
            throw std::system_error(-static_cast<int>(options.retval), std::generic_category(),
                                    "bpf_perf_event_read_value()");
    }

    measure::CpuGroups groups_;
    std::size_t per_cpu_;
    std::size_t possible_;
    std::vector<bpf_perf_event_value> results_;  // by number of CPU, as the map has it
    UniqueFd events_;
    UniqueFd values_;
    UniqueFd program_;
};

}  // namespace

std::unique_ptr<Rival> make_bpf(Subject& subject) {
    return std::make_unique<Bpf>(subject);
}

}  // namespace bench
