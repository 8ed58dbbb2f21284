// SPDX-License-Identifier: MIT
// Files that report reads, and its errors for others.
#include <fcntl.h>
#include <linux/perf_event.h>

#include <CLI/CLI.hpp>
#include <cstring>

#include "program.hpp"
#include "subcommands.hpp"

namespace {

// Discards what this process writes to standard error.
class Quiet {
  public:
    Quiet() : saved_(::dup(STDERR_FILENO)) {
        const metagroup::detail::UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        ::dup2(nowhere.get(), STDERR_FILENO);
    }
    ~Quiet() { ::dup2(saved_.get(), STDERR_FILENO); }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

  private:
    metagroup::detail::UniqueFd saved_;
};

// The samples of which report prints the lateness, in this process.
std::uint64_t samples_shown(const std::string& path) {
    const std::string output = path + ".output";
    CLI::App app;
    int status = -1;
    tool::add_report(app, status);
    app.parse(std::vector<std::string>{path, output, "-jo", "report"});  // in reverse
    if (status != 0) return 0;
    for (const nlohmann::json& line : json_lines(contents_of(output)))
        if (line.value("figure", "") == "lateness") return line.at("samples");
    return 0;
}

template <typename Number>
Number number_at(const std::string& file, std::size_t at) {
    Number number{};
    std::memcpy(&number, &file[at], sizeof(number));
    return number;
}

// Of a file without features: the samples before a byte.
std::uint64_t samples_before(const std::string& file, std::size_t end) {
    std::uint64_t samples = 0;
    perf_event_header record{};
    for (auto at = number_at<std::uint64_t>(file, 40); at < file.size(); at += record.size) {
        record = number_at<perf_event_header>(file, at);
        if (at + record.size > end) break;
        if (record.type == PERF_RECORD_SAMPLE) ++samples;
    }
    return samples;
}

}  // namespace

// A crash may leave zeros where the last records were to be.
TEST_CASE("report reads each complete record wherever a file ends", "[no-module]") {
    const metagroup::test::TempTree tree;
    const std::string path = tree.path("recording");
    const metagroup::test::SyntheticStream stream{};
    {
        metagroup::RecordingWriter writer(path, stream.options());
        stream.write(writer, 40);
    }
    const std::string whole = contents_of(path);
    const Quiet quiet;
    for (std::size_t end = whole.size() - 2048; end <= whole.size(); ++end) {
        CAPTURE(end);
        const std::uint64_t samples = samples_before(whole, end);
        std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, end);
        REQUIRE(samples_shown(path) == samples);
        std::filesystem::resize_file(path, end + 4096);
        const std::uint64_t padded = samples_shown(path);
        // The last word of a record may end in zeros.
        REQUIRE(padded >= samples);
        REQUIRE(padded <= samples + 1);
    }
}

TEST_CASE("report says that a recording is incomplete", "[no-module]") {
    const Recorded recorded(30);
    std::filesystem::resize_file(recorded.path, contents_of(recorded.path).size() - 1);
    CHECK_THAT(tool_output("report " + recorded.path),
               ContainsSubstring("cycles") && ContainsSubstring("is incomplete"));
}

TEST_CASE("Without a name report reads perf.data", "[no-module]") {
    const Recorded recorded;
    const std::string change = "cd " + recorded.tree.path() + " && ";
    CHECK_THAT(run_program(change + METAGROUP_TOOL " report").text,
               ContainsSubstring("cannot open recording \"perf.data\": No such file"));
    const Outcome outcome =
        run_program(change + "cp recording perf.data && " METAGROUP_TOOL " report");
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring("cycles"));
}

TEST_CASE("report reads a file that is standard input, and refuses a pipe", "[no-module]") {
    const Recorded recorded;
    CHECK_THAT(tool_output("report -i - <" + recorded.path), ContainsSubstring("cycles"));
    const Outcome outcome =
        run_program("cat " + recorded.path + " | " METAGROUP_TOOL " report -i -");
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("not a regular file") &&
                                 ContainsSubstring("redirect standard input"));
}

TEST_CASE("report does not wait for the writer of a FIFO", "[no-module]") {
    const metagroup::test::TempTree tree;
    run_program("mkfifo " + tree.path("fifo"));
    tool_fails("report " + tree.path("fifo"), {"not a regular file"});
}

TEST_CASE("report names a file that it cannot read", "[no-module]") {
    tool_fails("report /no/such/file", {"No such file"});
    tool_fails("report /etc/passwd", {"not a perf.data file"});
    tool_fails("report /etc", {"not a regular file"});
}

TEST_CASE("A recording is not overwritten by what is printed or drawn about it", "[no-module]") {
    const Recorded recorded(10);
    const std::string before = contents_of(recorded.path);
    const std::string link = recorded.tree.path("link.svg");
    std::filesystem::create_symlink(recorded.path, link);
    for (const std::string& words :
         {"report " + recorded.path + " -o " + link, "report " + recorded.path + " --plot " + link,
          "report " + recorded.path + " --html " + link, "report - -o " + link + " <" + link,
          "stat --replay " + link + " --append -o " + recorded.path}) {
        tool_fails(words, {"is the recording: write to another file"});
        REQUIRE(contents_of(recorded.path) == before);
    }
}
