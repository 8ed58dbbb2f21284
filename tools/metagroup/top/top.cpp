// SPDX-License-Identifier: MIT
// metagroup top: rates of all CPUs on a full screen.
#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>

#include "cpu_use.hpp"
#include "signals.hpp"
#include "subcommands.hpp"
#include "ticker.hpp"
#include "top/inputs.hpp"
#include "top/interval.hpp"
#include "top/model.hpp"
#include "top/options.hpp"
#include "top/sampler.hpp"
#include "top/screen.hpp"
#include "top/view.hpp"

namespace tool {
namespace {

using std::chrono::nanoseconds;

class Top {
  public:
    using Clock = Signals::Clock;

    explicit Top(const TopOptions& options)
        : options_(options),
          sampler_(options.selection.options(), options.by),
          model_(sampler_.places(), sampler_.series()),
          ticker_(options.interval.value_or(std::chrono::seconds(1)), Clock::now()) {}

    void run();
    // What the ticker waits by: keys and signals are answered meanwhile, at the cost of no tick.
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
    // Blocked before the screen is taken: whatever ends the program lets it be given back.
    Signals signals_{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
    Inputs inputs_{signals_};
    Sampler sampler_;
    Model model_;
    Screen screen_;
    View view_;
    Ticker ticker_;
    CpuUse cpu_use_;
    About about_;
    bool ended_ = false;
    bool restarted_ = false;
};

void Top::run() {
    about_.backend = metagroup::to_string(sampler_.live().group().backend());
    for (std::uint64_t shown = 0; !ended_ && (options_.count == 0 || shown < options_.count);) {
        draw();
        restarted_ = false;
        if (ticker_.wait(*this) != 0) continue;
        update();
        ++shown;
    }
}

int Top::wait_until(Clock::time_point deadline) {
    for (;;) {
        const auto until = about_.paused ? Clock::time_point::max() : deadline;
        const int what = inputs_.wait_until(until);
        if (what == 0) return 0;
        if (what == Inputs::kKeyboard)
            press_all(until);
        else
            signal(what);
        if (ended_ || restarted_) return what;
        draw();
    }
}

void Top::update() {
    model_.update(sampler_.sample());
    about_.problem = sampler_.live().problem();
    about_.cpu_use = cpu_use_.take();
}

void Top::draw() {
    const metagroup::Snapshot& newest = sampler_.live().newest();
    about_.sweep = nanoseconds(newest.end_ns() - newest.begin_ns());
    about_.missed = ticker_.missed();
    about_.interval = ticker_.interval();
    view_.draw(screen_, model_, about_);
}

// However fast they come.
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
    if (view_.shows_help()) {
        view_.show_help(false);
        return;
    }
    if (key >= '0' && key <= '9') model_.sort_by(static_cast<std::size_t>(key - '0'));
    switch (key) {
        case 'q':
            ended_ = true;
            break;
        case 'h':
        case '?':
            view_.show_help(true);
            break;
        case ' ':
        case 'p':
            pause();
            break;
        case '+':
        case '=':  // the same key, on most keyboards
            restart(longer(ticker_.interval()));
            break;
        case '-':
            restart(shorter(ticker_.interval()));
            break;
        case 'r':
            model_.reverse();
            break;
        case key::left:
            model_.sort_left();
            break;
        case key::right:
            model_.sort_right();
            break;
        case key::up:
            view_.up(1);
            break;
        case key::down:
            view_.down(1);
            break;
        case key::page_up:
            view_.up(view_.page());
            break;
        case key::page_down:
            view_.down(view_.page());
            break;
        case key::home:
            view_.home();
            break;
        case key::end:
            view_.end();
            break;
        default:
            break;
    }
}

void Top::restart(nanoseconds interval) {
    ticker_.restart(interval);
    restarted_ = true;
}

// The time of a pause belongs to no rate.
void Top::pause() {
    about_.paused = !about_.paused;
    if (about_.paused) return;
    sampler_.skip();
    restart(ticker_.interval());
}

}  // namespace

void add_top(CLI::App& app, int& /*status*/) {
    CLI::App* top = app.add_subcommand("top", "show rates of all CPUs, live");
    const auto options = std::make_shared<TopOptions>();
    options->add_to(*top);
    top->callback([options] { Top(*options).run(); });
}

}  // namespace tool
