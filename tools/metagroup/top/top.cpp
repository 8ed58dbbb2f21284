// SPDX-License-Identifier: MIT
// metagroup top: shows rates of all CPUs on a full screen or as plain lines.
#define NCURSES_NOMACROS 1  // the macros clash with names such as erase
#include <curses.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/intervals.hpp"
#include "common/metric_table.hpp"
#include "common/process.hpp"
#include "common/totals.hpp"
#include "subcommands.hpp"
#include "top/batch.hpp"
#include "top/source.hpp"
#include "top/view.hpp"

namespace tool {
namespace {

using std::chrono::nanoseconds;

struct TopOptions {
    void add_to(CLI::App& app);

    Selection selection;
    std::string metrics;
    std::string metric_directory;
    std::string method = "auto";  // how intervals are read
    Replay::Options replay;
    AggrMode mode = AggrMode::cpu;
    std::optional<nanoseconds> interval;
    std::optional<std::uint32_t> count;  // updates
    std::string filter;
    bool batch = false;
};

void TopOptions::add_to(CLI::App& app) {
    using namespace std::chrono_literals;
    selection.add_options(app);
    add_metrics(app, metrics, metric_directory);
    add_method(app, method);
    replay.add_option(app);
    // Numbers without a unit are seconds with -d, as in top(1), and milliseconds with -I, as in
    // stat.
    CLI::Option* delay = add_duration(app, "-d,--delay", interval, 1s, kShortestInterval,
                                      "seconds between updates, or a time, e.g. 500ms (1)");
    add_duration(app, "-I,--interval", interval, 1ms, kShortestInterval,
                 "the same in milliseconds, as in stat")
        ->excludes(delay);
    add_count(app, "-n,--count", count, "stop after N updates");
    add_aggregation(app, mode);
    app.add_option("--filter", filter, "show only these CPUs, e.g. 0-3,8, or names with this text");
    app.add_flag("-b,--batch", batch,
                 "print plain lines, for pipes, scripts and screen readers; needs no terminal");
}

std::unique_ptr<Source> make_source(const TopOptions& options, nanoseconds interval) {
    if (!options.replay.file.empty())
        return std::make_unique<RecordingSource>(options.replay, options.mode, interval);
    std::vector<MeasuredMetric> metrics;
    if (!options.metrics.empty())
        metrics = choose_metrics(options.metrics, options.metric_directory);
    return std::make_unique<LiveSource>(options.selection.options(groups_of(metrics)), options.mode,
                                        options.method, metrics);
}

Model make_model(const Source& source, const std::string& filter) {
    Model model(source.places(), source.series());
    model.filter(filter);
    if (!model.order().empty()) return model;
    throw std::invalid_argument(fmt::format(
        "--filter {}: no row matches; rows are {} to {}: give CPUs, e.g. 0-3,8, or part of a name",
        filter, source.places().front().name, source.places().back().name));
}

// The shortest time between two screen updates; shorter intervals appear only in the graphs.
constexpr std::chrono::milliseconds kFrame(40);

class Top {
  public:
    using Clock = Signals::Clock;

    Top(const TopOptions& options, nanoseconds interval)
        : options_(options),
          source_(make_source(options, interval)),
          model_(make_model(*source_, options.filter)),
          interval_(interval),
          ticker_(source_->restart(interval), Clock::now()) {}

    void run();
    // Called by the ticker: handles keys and signals until the deadline.
    int wait_until(Clock::time_point deadline);

  private:
    bool is_complete() const { return options_.count && shown_ >= *options_.count; }
    // True if it is time to redraw.
    bool is_due() const { return Clock::now() - drawn_ >= kFrame; }
    void update();
    void draw();
    void signal(int number);
    void press_all(Clock::time_point until);
    void press(int key);
    void type(int key);
    void fold();
    void restart(nanoseconds interval);
    void pause();

    const TopOptions& options_;
    // Blocked before the screen is set up, so that it is restored however the program ends.
    Signals signals_{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
    Inputs inputs_{signals_, {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}}};
    std::unique_ptr<Source> source_;
    Model model_;
    nanoseconds interval_;
    Ticker ticker_;
    Screen screen_;
    View view_;
    CpuUse cpu_use_;
    Status status_;
    Clock::time_point drawn_;
    std::uint64_t shown_ = 0;  // updates
    bool ended_ = false;
    bool restarted_ = false;
    const std::map<int, std::function<void()>> keys_{
        {'q', [this] { ended_ = true; }},
        {'h', [this] { view_.show_help(true); }},
        {'?', [this] { view_.show_help(true); }},
        {' ', [this] { pause(); }},
        {'p', [this] { pause(); }},
        {'+', [this] { restart(longer(interval_)); }},
        {'=', [this] { restart(longer(interval_)); }},  // + without Shift
        {'-', [this] { restart(shorter(interval_)); }},
        {'r', [this] { model_.reverse(); }},
        {'f', [this] { fold(); }},
        {'/', [this] { status_.typing = true; }},
        {KEY_LEFT, [this] { model_.sort_left(); }},
        {KEY_RIGHT, [this] { model_.sort_right(); }},
        {KEY_UP, [this] { view_.up(1); }},
        {KEY_DOWN, [this] { view_.down(1); }},
        {KEY_PPAGE, [this] { view_.up(view_.page()); }},
        {KEY_NPAGE, [this] { view_.down(view_.page()); }},
        {KEY_HOME, [this] { view_.home(); }},
        {KEY_END, [this] { view_.end(); }},
    };
};

void Top::run() {
    status_.source = source_->name();
    while (!ended_ && !is_complete()) {
        if (restarted_ || status_.paused || is_due()) draw();
        restarted_ = false;
        if (ticker_.wait(*this) == 0) update();
    }
}

int Top::wait_until(Clock::time_point deadline) {
    for (;;) {
        const auto until = status_.paused ? Clock::time_point::max() : deadline;
        const int input = inputs_.wait_until(until);
        if (input == 0) return 0;
        if (input == Inputs::kReady)
            press_all(until);
        else
            signal(input);
        if (ended_ || restarted_) return input;
        draw();
    }
}

void Top::update() {
    const bool batch = source_->has_batches();
    const Update* update = source_->sample();
    if (update == nullptr && !batch) status_.paused = true;
    while (update != nullptr && !is_complete()) {
        model_.update(*update);
        ++shown_;
        update = batch ? source_->sample() : nullptr;
    }
    status_.problem = source_->problem();
    if (is_due()) status_.cpu_use = cpu_use_.take();
}

void Top::draw() {
    status_.progress = source_->progress();
    status_.missed = ticker_.missed() + source_->missed();
    status_.interval = interval_;
    view_.draw(screen_, model_, status_);
    drawn_ = Clock::now();
}

// Handles all pending keys, until the next tick is due.
void Top::press_all(Clock::time_point until) {
    int key = screen_.key();
    if (key == ERR) throw std::runtime_error("the terminal is gone");
    do {
        press(key);
    } while (!ended_ && Clock::now() < until && (key = screen_.key()) != ERR);
}

void Top::signal(int number) {
    switch (number) {
        case SIGWINCH:
            screen_.resize();
            break;
        case SIGTSTP:
            screen_.suspend();
            source_->pause();
            ::raise(SIGSTOP);  // SIGCONT follows
            break;
        case SIGCONT:
            screen_.resume();
            restart(interval_);
            break;
        default:
            ended_ = true;
    }
}

void Top::press(int key) {
    if (view_.shows_help())
        view_.show_help(false);
    else if (status_.typing)
        type(key);
    else if (key >= '0' && key <= '9')
        model_.sort_by(static_cast<std::size_t>(key - '0'));
    else if (const auto found = keys_.find(key); found != keys_.end())
        found->second();
}

// A key typed into the filter, which takes effect immediately.
void Top::type(int key) {
    constexpr int kEnter = '\r';
    constexpr int kEscape = 27;
    constexpr int kDelete = 127;
    std::string text = model_.filter();
    if (key == kEnter || key == '\n' || key == KEY_ENTER) {
        status_.typing = false;
        return;
    }
    if (key == kEscape) {
        status_.typing = false;
        text.clear();
    } else if (key == KEY_BACKSPACE || key == kDelete || key == '\b') {
        if (!text.empty()) text.pop_back();
    } else if (key >= ' ' && key < kDelete) {
        text += static_cast<char>(key);
    }
    model_.filter(text);
}

void Top::fold() {
    if (!source_->fold()) return;
    model_.replace(source_->places());
    restart(interval_);
}

void Top::restart(nanoseconds interval) {
    interval_ = interval;
    if (status_.paused) return;
    ticker_.restart(source_->restart(interval));
    restarted_ = true;
}

// A pause does not count in any rate.
void Top::pause() {
    status_.paused = !status_.paused;
    if (status_.paused)
        source_->pause();
    else
        restart(interval_);
}

}  // namespace

void add_top(CLI::App& app, int& /*status*/) {
    CLI::App* top = app.add_subcommand("top", "show live rates of all CPUs");
    const auto options = std::make_shared<TopOptions>();
    options->add_to(*top);
    top->callback([options] {
        const nanoseconds interval = options->interval.value_or(std::chrono::seconds(1));
        if (!options->batch) return Top(*options, interval).run();
        const std::unique_ptr<Source> source = make_source(*options, interval);
        Model model = make_model(*source, options->filter);
        run_batch(*source, model, interval, options->count);
    });
}

}  // namespace tool
