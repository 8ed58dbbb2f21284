// SPDX-License-Identifier: MIT
// metagroup record: writes the samples of a stream to a perf.data file.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <metagroup/error.hpp>
#include <metagroup/recording_writer.hpp>
#include <metagroup/stream.hpp>
#include <metagroup/version.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/command_line.hpp"
#include "common/process.hpp"
#include "common/text.hpp"
#include "common/totals.hpp"
#include "record/output_file.hpp"
#include "record/timing.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

using metagroup::MetaGroup;
using metagroup::Stream;
using std::chrono::nanoseconds;

struct RecordOptions {
    void add_to(CLI::App& app);
    Stream::Options stream() const;
    MetaGroup::Options counted() const;

    Selection selection;
    bool quiet = false;
    std::optional<std::uint32_t> frequency;
    std::optional<nanoseconds> interval;
    std::optional<nanoseconds> duration;
    std::uint64_t ring_size = std::uint64_t{512} << 10U;
    bool overwrite = false;
    std::string file = "perf.data";
    std::vector<std::string> command;
};

void RecordOptions::add_to(CLI::App& app) {
    using namespace std::chrono_literals;
    constexpr std::uint32_t most = 100'000;
    selection.add_options(app);
    app.add_flag("--quiet", quiet)->group("");  // hidden: alias of --quiet-cpus
    CLI::Option* rate = add_count(app, "-F,--frequency", frequency,
                                  "samples per second, up to 100000 (default 1000)");
    rate->check(CLI::Range(std::uint32_t{1}, most));
    add_duration(app, "-I,--interval", interval, 1ms, 10us,
                 "time between samples instead, e.g. 100us, 1ms")
        ->excludes(rate);
    add_duration(app, "--duration", duration, 1s, 10us, "stop after TIME");
    app.add_option("--ring-size", ring_size, "memory for samples per CPU, a power of two <= 64M")
        ->transform(CLI::AsSizeValue(false))
        ->type_name("BYTES")
        ->default_str("512K");
    app.add_flag("--overwrite", overwrite, "keep the newest samples in memory until the end");
    app.add_option("-o,--output", file,
                   "write to this file; an existing one is renamed to FILE.old")
        ->check(not_empty())
        ->check(CLI::Validator(
            [](const std::string& name) {
                return name == "-" ? "a recording cannot be written to a stream; name a file" : "";
            },
            ""))
        ->type_name("FILE")
        ->capture_default_str();
    add_command(app, command,
                "record while this command runs; records all tasks, not only the command");
}

Stream::Options RecordOptions::stream() const {
    const nanoseconds period =
        interval.value_or(nanoseconds(1'000'000'000 / frequency.value_or(1000)));
    return {
        .period = period, .ring_size = static_cast<std::size_t>(ring_size), .overwrite = overwrite};
}

MetaGroup::Options RecordOptions::counted() const {
    MetaGroup::Options options = selection.options();
    options.mode.quiet = options.mode.quiet || quiet;
    // Readers of recordings need to know which count belongs to which event. A published set has
    // its own format.
    if (options.set.empty())
        options.read_format = metagroup::default_read_format | metagroup::ReadFormat::id;
    return options;
}

std::vector<std::string> command_line() {
    std::vector<std::string> words;
    std::ifstream file("/proc/self/cmdline");
    for (std::string word; std::getline(file, word, '\0');)
        words.push_back(word);
    return words;
}

// Starts counting before the stream starts, so that its first samples have counts. A joined set has
// the read format with which it was published.
MetaGroup open(const MetaGroup::Options& options) {
    MetaGroup group = MetaGroup::open(options);
    group.enable();
    metagroup::Snapshot snapshot;
    if (!options.set.empty()) group.read(snapshot);
    for (const metagroup::MemberView member : snapshot) {
        if ((member.read_format() & metagroup::ReadFormat::id) != 0) continue;
        throw metagroup::Error(metagroup::Cause::unsupported_event, EINVAL,
                               {fmt::format("cannot record set \"{}\"", options.set),
                                "it was published without identifiers (PERF_FORMAT_ID)",
                                "publish it with \"metagroup set create\""});
    }
    return group;
}

// The members of a stream. Their CPUs are known only if no CPU of the group is offline already.
std::vector<Timing::Member> members_of(MetaGroup& group, const Stream& stream) {
    std::vector<Timing::Member> members;
    const auto events = stream.events();
    std::size_t number = 0;  // of the group
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].leader != i) continue;
        std::vector<int> cpus;
        for (const MetaGroup::Member& member : group.members())
            if (member.group == number) cpus.push_back(member.cpu);
        ++number;
        const auto& ids = events[i].ids;
        for (std::size_t k = 0; k < ids.size(); ++k)
            members.push_back({ids[k], cpus.size() == ids.size() ? cpus[k] : -1});
    }
    return members;
}

class Record {
  public:
    explicit Record(const RecordOptions& options);
    int run();

  private:
    using Clock = Signals::Clock;

    // Without the module, each member has its own timer.
    bool common() const { return group_.backend() == metagroup::Backend::module; }
    metagroup::RecordingWriter open_file() const;
    void record(Clock::time_point end);
    bool is_over(int signal) { return signal > 0 && (signal != SIGCHLD || child_->status()); }
    void write(const metagroup::Records& records);
    void write_in_slices(std::span<const metagroup::Records> pieces);
    void drain();
    void show_progress();
    void add_losses(std::uint64_t deadlines, std::uint64_t end);
    void summarize();

    const RecordOptions& options_;
    MetaGroup group_;
    Stream stream_;
    OutputFile output_;
    metagroup::RecordingWriter writer_;
    Timing timing_;
    CpuUse cpu_use_;
    Clock::time_point start_ = Clock::now();
    std::uint64_t bytes_ = 0;  // of records
    bool progress_shown_ = false;
    Signals signals_{SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    Inputs inputs_;
    std::optional<Child> child_;
};

Record::Record(const RecordOptions& options)
    : options_(options),
      group_(open(options.counted())),
      stream_(Stream::start(group_, options.stream())),
      output_(options.file),
      writer_(open_file()),
      timing_(stream_.period_ns(), common(), options.ring_size / 64, stream_.first_ns(),
              members_of(group_, stream_)),
      inputs_(signals_, {stream_.poll_fds().begin(), stream_.poll_fds().end()}) {
    if (!common())
        fmt::print(stderr,
                   "metagroup: without the module, each CPU has its own timer (cpu-clock), whose "
                   "deadlines differ from those of other CPUs\n  reason: {}\n",
                   group_.backend_reason());
}

metagroup::RecordingWriter Record::open_file() const {
    return {output_.path(),
            {.events = stream_.events(),
             .period_ns = common() ? stream_.period_ns() : 0,
             .command = command_line(),
             .version = "metagroup " METAGROUP_VERSION_STRING}};
}

void Record::write(const metagroup::Records& records) {
    writer_.write(records);
    timing_.add(records);
    bytes_ += records.bytes().size();
}

void Record::drain() {
    const auto pieces = stream_.read_records();
    if (pieces.empty()) return;
    if (options_.overwrite) {
        write_in_slices(pieces);
    } else {
        for (const metagroup::Records& records : pieces)
            write(records);
        writer_.finish_round();
    }
    output_.keep();
    stream_.release();
}

// Each ring covers the whole time. Readers sort records up to the end of a round: without slices,
// they would have to keep all records in memory.
void Record::write_in_slices(std::span<const metagroup::Records> pieces) {
    using metagroup::Records;
    constexpr std::uint64_t slices = 256;
    std::uint64_t first = UINT64_MAX;
    std::uint64_t last = 0;
    for (const Records& records : pieces) {
        if (records.last_ns() > 0) first = std::min(first, records.first_ns());
        last = std::max(last, records.last_ns());
    }
    std::vector<std::span<const std::byte>> rest;
    for (const Records& records : pieces)
        rest.push_back(records.bytes());
    for (std::uint64_t slice = 1; slice <= slices; ++slice) {
        const std::uint64_t end = slice < slices ? first + (last - first) / slices * slice : last;
        for (auto& bytes : rest) {
            std::size_t taken = 0;
            for (perf_event_header next{};
                 (next = Records::whole_header(bytes.subspan(taken))).size > 0; taken += next.size)
                if (next.type == PERF_RECORD_SAMPLE &&
                    Records::number_at(bytes.subspan(taken), Records::time_at) > end)
                    break;
            write(Records(bytes.first(taken)));
            bytes = bytes.subspan(taken);
        }
        writer_.finish_round();
    }
}

// Losses that no ring reports because no sample followed.
void Record::add_losses(std::uint64_t deadlines, std::uint64_t end) {
    const auto bytes = timing_.losses_at_end(deadlines, end);
    write(metagroup::Records(bytes));
}

void Record::show_progress() {
    if (::isatty(STDERR_FILENO) == 0) return;
    const std::chrono::duration<double> elapsed = Clock::now() - start_;
    if (options_.overwrite)
        fmt::print(stderr, "\r{:.0f} s, the newest samples are in memory ", elapsed.count());
    else
        fmt::print(stderr, "\r{:.0f} s, {} samples, {}B, {} lost ", elapsed.count(),
                   timing_.samples(), short_number(static_cast<double>(bytes_)), timing_.lost());
    progress_shown_ = true;
}

void Record::record(Clock::time_point end) {
    using namespace std::chrono_literals;
    for (;;) {
        const auto tick = Clock::now() + 1s;
        const int woken_by = inputs_.wait_until(std::min(tick, end));
        if (is_over(woken_by)) return;
        if (woken_by == Inputs::kReady) {
            const Stream::Wake wake = stream_.wait(0s);
            if (wake == Stream::Wake::ended) return;
            if (wake == Stream::Wake::timeout)  // the CPU of a ring went offline
                inputs_ = Inputs(signals_, {stream_.poll_fds().begin(), stream_.poll_fds().end()});
        } else if (Clock::now() >= end) {
            return;
        }
        drain();
        if (woken_by == 0) show_progress();
    }
}

int Record::run() {
    if (!options_.command.empty()) child_.emplace(options_.command, signals_);
    record(options_.duration ? start_ + *options_.duration : Clock::time_point::max());
    const std::uint64_t lost = stream_.stop();
    const nanoseconds end = Clock::now().time_since_epoch();
    drain();
    add_losses(lost, static_cast<std::uint64_t>(end.count()));
    writer_.finish();
    output_.keep();
    if (child_) child_->terminate();
    summarize();
    return child_ ? child_->wait() : 0;
}

std::string quantiles(const metagroup::Histogram& times) {
    const auto show = [](std::uint64_t ns) {
        return with_unit(nanoseconds(static_cast<nanoseconds::rep>(ns)));
    };
    return fmt::format("p50 {}, p99 {}, max {}", show(times.quantile(0.5)),
                       show(times.quantile(0.99)), show(times.max()));
}

void Record::summarize() {
    const double cpu_use = cpu_use_.take();
    timing_.finish();
    if (progress_shown_) fmt::print(stderr, "\r\x1b[K");
    const std::chrono::duration<double> elapsed = Clock::now() - start_;
    std::string text =
        fmt::format("metagroup: {} samples in {:.3g} s, {}B, to {}\n  lost      {} of {} samples",
                    timing_.samples(), elapsed.count(), short_number(static_cast<double>(bytes_)),
                    options_.file, timing_.lost(), timing_.samples() + timing_.lost());
    text += timing_.lost_at_end() > 0
                ? fmt::format(", {} of them at the end\n", timing_.lost_at_end())
                : "\n";
    if (timing_.lateness().count() > 0)
        text += fmt::format("  lateness  {}\n", quantiles(timing_.lateness()));
    if (timing_.skew().count() > 0)
        text += fmt::format("  skew      {}\n", quantiles(timing_.skew()));
    fmt::print(stderr, "{}  own CPU   {:.2f} %\n", text, 100 * cpu_use);
    if (timing_.unknown() > 0)
        fmt::print(stderr,
                   "metagroup: {} samples cannot be read: the events of a CPU were replaced during "
                   "recording\n",
                   timing_.unknown());
}

}  // namespace

void add_record(CLI::App& app, int& status) {
    CLI::App* record = app.add_subcommand("record", "sample all CPUs at common deadlines");
    const auto options = std::make_shared<RecordOptions>();
    options->add_to(*record);
    record->callback([options, &status] { status = Record(*options).run(); });
}

}  // namespace tool
