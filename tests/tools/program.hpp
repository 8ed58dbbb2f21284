// SPDX-License-Identifier: MIT
// For most tests: Catch2, programs that are run by the shell or on a pseudo-terminal, files,
// recordings.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <map>
#include <metagroup/cpu_list.hpp>
#include <metagroup/detail/unique_fd.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/synthetic_stream.hpp"
#include "support/temp_tree.hpp"

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using namespace std::chrono_literals;

struct Outcome {
    int status;
    std::string text;  // both streams
};

// The status of metagroup's own failures, as in env(1).
constexpr int kFailure = 125;

enum class Who { self, nobody };

// Anything but `self` needs root.
Outcome run_program(const std::string& command, Who who = Who::self);

// The tool, with these arguments.
Outcome run_tool(const std::string& arguments);
// The same; it must succeed. \return what it prints.
std::string tool_output(const std::string& arguments);
// It must fail by itself, with a message that has these parts, of which one at least is not from
// the arguments.
void tool_fails(const std::string& arguments, const std::vector<std::string>& parts);

// Skips a test of what is without the module.
void need_no_module();

// Where tests/vm/fetch puts the perf of a newer kernel.
std::string newer_perf();

// Runs a program while seccomp refuses perf_event_open(2), as in containers.
Outcome run_without_perf(const std::string& command, int error = EPERM);

std::vector<std::string> split(const std::string& text, char separator);

std::vector<nlohmann::json> json_lines(const std::string& text);

// Bytes of a file.
std::string contents_of(const std::string& path);

std::size_t number_online();

// A recording with known counts.
struct Recorded {
    explicit Recorded(std::uint64_t deadlines = 1000) { stream.write_file(path, deadlines); }

    metagroup::test::TempTree tree;
    std::string path = tree.path("recording");
    metagroup::test::SyntheticStream stream{.cpus = 3};
};

struct TerminalSize {
    unsigned short rows = 24, columns = 80;
};

// A program on a pseudo-terminal.
class Pty {
  public:
    using Variables = std::initializer_list<std::pair<const char*, const char*>>;

    // Runs the command; TERM is xterm and the locale C.UTF-8 if the variables say nothing else.
    explicit Pty(std::vector<std::string> command, Variables variables = {},
                 TerminalSize size = {});
    // Kills the program if it still runs.
    ~Pty();
    Pty(const Pty&) = delete;
    Pty& operator=(const Pty&) = delete;

    // Waits until the program has written the text since the last successful call; control
    // sequences are removed. \return false after a time limit. `all` gets everything written.
    bool shows(std::string_view text, std::string* all = nullptr);
    // True if the program ever wrote these bytes.
    bool wrote(std::string_view bytes) {
        while (master_ && read_for(std::chrono::milliseconds(0))) {
        }
        return all_.find(bytes) != std::string::npos;
    }
    // Everything written since shows() succeeded, for messages.
    std::string screen() const;

    void type(std::string_view keys);
    void signal(int number) const;
    // Closes the terminal.
    void hang_up();

    // The exit status as a shell has it; nothing if it does not end.
    std::optional<int> end();

  private:
    bool read_for(std::chrono::milliseconds time);

    metagroup::detail::UniqueFd master_;
    metagroup::detail::UniqueFd slave_;  // what the program wrote last can be read after its end
    pid_t child_ = -1;
    std::string all_;
    std::size_t seen_ = 0;
};
