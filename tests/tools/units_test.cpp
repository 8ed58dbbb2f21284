// SPDX-License-Identifier: MIT
// The systemd units: their command lines, with the variables, groups and limits that they name, as
// systemd runs them.
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>

#include <metagroup/device.hpp>
#include <metagroup/published_set.hpp>

#include "http.hpp"
#include "program.hpp"
#include "support/process.hpp"

using metagroup::test::Fd;

namespace {

constexpr const char* kInstance = "units";
constexpr gid_t kGroup = 997;
constexpr uid_t kDynamicUser = 61184;  // the first that systemd chooses

// The lines KEY=VALUE of a unit, or of the file of its variables.
std::map<std::string, std::string> settings_of(const std::string& file) {
    std::map<std::string, std::string> settings;
    for (const std::string& line : split(contents_of(file), '\n')) {
        const std::size_t equals = line.find('=');
        if (line.starts_with('#') || equals == line.npos) continue;
        settings[line.substr(0, equals)] = line.substr(equals + 1);
    }
    return settings;
}

// A unit that is instantiated: %i is the instance.
class Unit {
  public:
    explicit Unit(const std::string& name)
        : settings_(settings_of(METAGROUP_UNITS "/" + name + "@.service")) {
        for (auto& [key, value] : settings_)
            value = std::regex_replace(value, std::regex("%i"), kInstance);
        variables_ = settings_of(variables_file());
    }

    const std::string& at(const std::string& key) const { return settings_.at(key); }
    // Where the variables are, without the mark of a file that may be missing.
    std::string variables_file() const {
        REQUIRE(at("EnvironmentFile").starts_with("-/"));
        return at("EnvironmentFile").substr(1);
    }

    // Words that are variables become their words.
    std::vector<std::string> command(const std::string& key) const {
        std::vector<std::string> words;
        for (const std::string& word : split(at(key), ' ')) {
            REQUIRE(word.find('%') == word.npos);
            if (!word.starts_with('$')) {
                words.push_back(word);
                continue;
            }
            const auto value = variables_.find(word.substr(1));
            if (value == variables_.end()) continue;
            for (const std::string& part : split(value->second, ' '))
                words.push_back(part);
        }
        return words;
    }

  private:
    std::map<std::string, std::string> settings_;
    std::map<std::string, std::string> variables_;
};

// A file for a test, with what was in it before at the end.
class TextFile {
  public:
    TextFile(std::string path, const std::string& added)
        : path_(std::move(path)),
          before_(std::filesystem::exists(path_) ? contents_of(path_) : "") {
        std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
        std::ofstream(path_) << before_ << added;
    }
    ~TextFile() {
        if (before_.empty())
            std::filesystem::remove(path_);
        else
            std::ofstream(path_) << before_;
    }
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;

  private:
    std::string path_, before_;
};

// The group, its device and the program, as an installation and udev make them.
struct Installed {
    explicit Installed(const std::string& where)
        : group("/etc/group", "perf_metagroup:x:" + std::to_string(kGroup) + ":\n"),
          program(where) {
        REQUIRE(::chown(PERF_METAGROUP_DEVICE, 0, kGroup) == 0);
        std::filesystem::permissions(PERF_METAGROUP_DEVICE, std::filesystem::perms(0660));
        std::filesystem::create_directories(program.parent_path());
        std::filesystem::create_symlink(METAGROUP_TOOL, program);
    }
    ~Installed() {
        std::filesystem::remove(program);
        std::filesystem::permissions(PERF_METAGROUP_DEVICE, std::filesystem::perms(0600));
        static_cast<void>(::chown(PERF_METAGROUP_DEVICE, 0, 0));
    }
    Installed(const Installed&) = delete;
    Installed& operator=(const Installed&) = delete;

    TextFile group;
    std::filesystem::path program;
};

[[noreturn]] void execute(std::vector<std::string> command) {
    std::vector<char*> words;
    for (std::string& word : command)
        words.push_back(word.data());
    words.push_back(nullptr);
    ::execv(words[0], words.data());
    ::_exit(127);
}

int run(const std::vector<std::string>& command) {
    return metagroup::test::in_child([&]() -> int { execute(command); });
}

// DynamicUser=, CapabilityBoundingSet= without a value, and NoNewPrivileges=.
bool become_dynamic_user(std::span<const gid_t> groups) {
    for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability)
        if (::prctl(PR_CAPBSET_DROP, capability) != 0) return false;
    return ::setgroups(groups.size(), groups.data()) == 0 && ::setgid(kDynamicUser) == 0 &&
           ::setuid(kDynamicUser) == 0 && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

// A unit that runs until it is stopped.
class Service {
  public:
    Service(const Unit& unit, std::span<const gid_t> groups) {
        std::array<int, 2> ends{};
        REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
        output_ = Fd(ends[0]);
        const Fd to(ends[1]);
        const auto command = unit.command("ExecStart");
        child_ = ::fork();
        REQUIRE(child_ >= 0);
        if (child_ != 0) return;
        ::dup2(to.get(), STDOUT_FILENO);
        ::dup2(to.get(), STDERR_FILENO);
        if (!become_dynamic_user(groups)) ::_exit(126);
        execute(command);
    }
    ~Service() {
        if (child_ > 0) stop();
    }
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    // All that it prints until a line ends.
    std::string line() const {
        std::string text;
        char next = 0;
        while (next != '\n' && ::read(output_.get(), &next, 1) == 1)
            text += next;
        return text;
    }
    int status() { return metagroup::test::exit_status(std::exchange(child_, -1)); }
    // As systemd does without ExecStop=. \return its exit status.
    int stop() {
        ::kill(child_, SIGTERM);
        return status();
    }

  private:
    Fd output_;
    pid_t child_ = -1;
};

}  // namespace

TEST_CASE("The systemd units publish a set, serve it with only a group's rights, and remove it",
          "[module]") {
    if ((metagroup::Device::open().info().features & PERF_METAGROUP_FEATURE_NAME) == 0)
        SKIP("the module has no names of sets");
    const TextFile set_options(Unit("metagroup-set").variables_file(),
                               "OPTIONS=-e {context-switches,page-faults}\n");
    const TextFile export_options(Unit("metagroup-export").variables_file(),
                                  "# any port\nOPTIONS=--listen 127.0.0.1:0\n");
    const Unit set("metagroup-set");
    const Unit exporter("metagroup-export");
    REQUIRE(set.command("ExecStart").size() == 6);
    const Installed installed(set.command("ExecStart").front());

    REQUIRE(run(set.command("ExecStart")) == 0);
    const auto published = metagroup::published_set(kInstance);
    REQUIRE(published);
    CHECK(published->gid == kGroup);
    CHECK(published->mode == 0440);
    CHECK(published->cpus == metagroup::CpuList::online());

    CHECK(exporter.at("DynamicUser") == "yes");
    CHECK(exporter.at("CapabilityBoundingSet").empty());
    CHECK(exporter.at("NoNewPrivileges") == "yes");
    REQUIRE(exporter.at("SupplementaryGroups") == ::getgrgid(kGroup)->gr_name);
    Service stranger(exporter, {});
    CHECK_THAT(stranger.line(), ContainsSubstring("cannot open /dev/perf_metagroup"));
    CHECK(stranger.status() == kFailure);

    Service service(exporter, std::array{kGroup});
    const std::string line = service.line();
    std::smatch found;
    REQUIRE(std::regex_search(line, found, std::regex("by module on .*:(\\d+)/metrics")));
    const auto port = static_cast<std::uint16_t>(std::stoi(found[1]));
    // Of all CPUs: one of them may idle all the time.
    const auto switches = [port] {
        double sum = 0;
        for (const auto& [name, value] : samples_of(get(port)))
            if (name.starts_with("metagroup_events_total{event=\"context-switches\"")) sum += value;
        return sum;
    };
    CHECK(samples_of(get(port)).at("metagroup_backend_info{backend=\"module\",origin=\"name\"}") ==
          1);
    std::this_thread::sleep_for(100ms);
    const double before = switches();
    CHECK(before > 0);
    CHECK(metagroup::published_set(kInstance)->users == 1);

    REQUIRE(run(set.command("ExecStop")) == 0);
    CHECK_FALSE(metagroup::published_set(kInstance));
    std::this_thread::sleep_for(100ms);
    CHECK(switches() > before);
    CHECK(service.stop() == 0);
}
