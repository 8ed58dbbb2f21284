// SPDX-License-Identifier: MIT
// metagroup top: rates of all CPUs on a full screen.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "common/command_line.hpp"
#include "common/process.hpp"
#include "common/totals.hpp"
#include "subcommands.hpp"
#include "top/interval.hpp"
#include "top/model.hpp"
#include "top/screen.hpp"
#include "top/source.hpp"
#include "top/view.hpp"

namespace tool {
namespace {

using std::chrono::nanoseconds;

struct TopOptions {
    void add_to(CLI::App& app);

    Selection selection;
    Replay::Options replay;
    AggrMode mode = AggrMode::cpu;
    std::optional<nanoseconds> interval;
    std::optional<std::uint32_t> count;  // updates
};

void TopOptions::add_to(CLI::App& app) {
    using namespace std::chrono_literals;
    selection.add_options(app);
    replay.add_option(app);
    // Numbers without unit are seconds with -d, as in top(1), and milliseconds with -I, as in stat.
    CLI::Option* delay = add_duration(app, "-d,--delay", interval, 1s, kShortestInterval,
                                      "seconds between updates, or as in 500ms (1)");
    add_duration(app, "-I,--interval", interval, 1ms, kShortestInterval,
                 "the same in milliseconds, as in stat")
        ->excludes(delay);
    add_count(app, "--count", count, "stop after N updates");
    add_aggregation(app, mode);
}

std::unique_ptr<Source> make_source(const TopOptions& options, nanoseconds interval) {
    if (!options.replay.file.empty())
        return std::make_unique<Player>(options.replay, options.mode, interval);
    return std::make_unique<Sampler>(options.selection.options(), options.mode);
}

class Top {
  public:
    using Clock = Signals::Clock;

    Top(const TopOptions& options, nanoseconds interval)
        : options_(options),
          source_(make_source(options, interval)),
          model_(source_->places(), source_->series()),
          ticker_(interval, Clock::now()) {}

    void run();
    // For the ticker: handles keys and signals until the deadline.
    int wait_until(Clock::time_point deadline);

  private:
    void update();
    void draw();
    void signal(int number);
    void press_all(Clock::time_point until);
    void press(int key);
    void restart(nanoseconds interval);
    void pause();

    const TopOptions& options_;
    // Blocked before the screen is taken, so that every end of the program restores it.
    Signals signals_{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
    Inputs inputs_{signals_, {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}}};
    std::unique_ptr<Source> source_;
    Model model_;
    Screen screen_;
    View view_;
    Ticker ticker_;
    CpuUse cpu_use_;
    Status status_;
    bool ended_ = false;
    bool restarted_ = false;
    const std::map<int, std::function<void()>> keys_{
        {'q', [this] { ended_ = true; }},
        {'h', [this] { view_.show_help(true); }},
        {'?', [this] { view_.show_help(true); }},
        {' ', [this] { pause(); }},
        {'p', [this] { pause(); }},
        {'+', [this] { restart(longer(ticker_.interval())); }},
        {'=', [this] { restart(longer(ticker_.interval())); }},  // + without Shift
        {'-', [this] { restart(shorter(ticker_.interval())); }},
        {'r', [this] { model_.reverse(); }},
        {key::left, [this] { model_.sort_left(); }},
        {key::right, [this] { model_.sort_right(); }},
        {key::up, [this] { view_.up(1); }},
        {key::down, [this] { view_.down(1); }},
        {key::page_up, [this] { view_.up(view_.page()); }},
        {key::page_down, [this] { view_.down(view_.page()); }},
        {key::home, [this] { view_.home(); }},
        {key::end, [this] { view_.end(); }},
    };
};

void Top::run() {
    status_.source = source_->name();
    for (std::uint64_t shown = 0; !ended_ && (!options_.count || shown < *options_.count);) {
        draw();
        restarted_ = false;
        if (ticker_.wait(*this) != 0) continue;
        update();
        ++shown;
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
    if (const Update* update = source_->sample())
        model_.update(*update);
    else
        status_.paused = true;
    status_.problem = source_->problem();
    status_.cpu_use = cpu_use_.take();
}

void Top::draw() {
    status_.progress = source_->progress();
    status_.missed = ticker_.missed();
    status_.interval = ticker_.interval();
    view_.draw(screen_, model_, status_);
}

// Handles all keys that are there, until the next tick is due.
void Top::press_all(Clock::time_point until) {
    int key = screen_.key();
    if (key == key::none) throw std::runtime_error("the terminal is gone");
    do {
        press(key);
    } while (!ended_ && Clock::now() < until && (key = screen_.key()) != key::none);
}

void Top::signal(int number) {
    switch (number) {
        case SIGWINCH:
            screen_.resize();
            break;
        case SIGTSTP:
            screen_.suspend();
            ::raise(SIGSTOP);  // SIGCONT follows
            break;
        case SIGCONT:
            screen_.resume();
            restart(ticker_.interval());
            break;
        default:
            ended_ = true;
    }
}

void Top::press(int key) {
    if (view_.shows_help())
        view_.show_help(false);
    else if (key >= '0' && key <= '9')
        model_.sort_by(static_cast<std::size_t>(key - '0'));
    else if (const auto found = keys_.find(key); found != keys_.end())
        found->second();
}

void Top::restart(nanoseconds interval) {
    ticker_.restart(interval);
    restarted_ = true;
}

// The time of a pause is not part of any rate.
void Top::pause() {
    status_.paused = !status_.paused;
    if (status_.paused) return;
    source_->skip();
    restart(ticker_.interval());
}

}  // namespace

void add_top(CLI::App& app, int& /*status*/) {
    CLI::App* top = app.add_subcommand("top", "show rates of all CPUs, live");
    const auto options = std::make_shared<TopOptions>();
    options->add_to(*top);
    top->callback(
        [options] { Top(*options, options->interval.value_or(std::chrono::seconds(1))).run(); });
}

}  // namespace tool
