// SPDX-License-Identifier: MIT
// The extension module metagroup._metagroup: the objects of the C++ library, with counts as numpy
// arrays.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <metagroup/metagroup.hpp>
#include <metagroup/recording.hpp>
#include <metagroup/stream.hpp>
#include <metagroup/version.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "objects.hpp"
#include "recording_table.hpp"
#include "sums.hpp"

namespace py = pybind11;
using namespace py::literals;
using namespace metagroup;
using metagroup::python::check_signals;
using metagroup::python::construct;
using metagroup::python::Constructed;
using metagroup::python::CountColumn;
using metagroup::python::NumberColumn;
using metagroup::python::RecordingTable;
using metagroup::python::Shared;
using metagroup::python::SweepSums;
using metagroup::python::TableSums;
using metagroup::python::unit_of;
using metagroup::python::Unlocked;

namespace {

// Bytes that are not UTF-8 appear as \xff, as in the names of events in a damaged recording.
py::str text_of(std::string_view text) {
    PyObject* const decoded = PyUnicode_DecodeUTF8(
        text.data(), static_cast<py::ssize_t>(text.size()), "backslashreplace");
    if (decoded == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::str>(decoded);
}

template <class T>
py::array_t<T> array_of(const std::vector<T>& values) {
    return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

py::dict description_of(const Column& column) {
    return py::dict("unit"_a = text_of(unit_of(column)), "scale"_a = column.scale,
                    "reading"_a = column.reading);
}

[[noreturn]] void refuse_counts(const MemberView& record) {
    throw std::invalid_argument("CPU " + std::to_string(record.cpu()) +
                                " has no counts: its status is " +
                                std::string(to_string(record.status())));
}

std::uint64_t known(const MemberView& record, std::optional<std::uint64_t> time) {
    if (!time) refuse_counts(record);
    return *time;
}

using Records = std::vector<std::vector<std::size_t>>;  // by group

const std::vector<std::size_t>& records_of(const Records& records, std::size_t group) {
    if (group >= records.size())
        throw std::out_of_range("there is no group " + std::to_string(group) + ", only 0 to " +
                                std::to_string(records.size() - 1));
    return records[group];
}

// One sweep. Never modified afterwards, so arrays can be views of it.
struct Sweep : Constructed {
    explicit Sweep(std::shared_ptr<const Records> of_group) : records(std::move(of_group)) {}

    std::shared_ptr<const Records> records;
    Snapshot snapshot{};

    const std::vector<std::size_t>& of(std::size_t group) const {
        return records_of(*records, group);
    }

    // A field of all records of a group other than the counts.
    template <class T, class Get>
    py::array_t<T> field(std::size_t group, const Get& get) const {
        std::vector<T> values;
        for (const std::size_t i : of(group))
            values.push_back(static_cast<T>(get(snapshot[i])));
        return array_of(values);
    }
};

// The counts of a group: one row per CPU, one column per event. A view if the records are at equal
// distances; groups of different sizes or CPUs require a copy.
py::array counts_of(const py::object& self, std::size_t group) {
    const auto& sweep = self.cast<const Sweep&>();
    std::vector<const std::byte*> rows;
    std::size_t events = 0;
    for (const std::size_t i : sweep.of(group)) {
        const MemberView record = sweep.snapshot[i];
        if (record.nr() == 0 || (!rows.empty() && record.nr() != events)) refuse_counts(record);
        events = record.nr();
        // default_read_format: the counts are the last words.
        const auto bytes = record.payload_bytes();
        rows.push_back(bytes.data() + bytes.size() - events * sizeof(std::uint64_t));
    }
    const auto distance = rows.size() < 2 ? 0 : rows[1] - rows[0];
    bool even = true;
    for (std::size_t i = 1; i < rows.size(); ++i)
        even = even && rows[i] - rows[i - 1] == distance;
    if (rows.empty() || !even) {
        py::array_t<std::uint64_t> copy({rows.size(), events});
        for (std::size_t i = 0; i < rows.size(); ++i)
            std::memcpy(copy.mutable_data(static_cast<py::ssize_t>(i), 0), rows[i],
                        events * sizeof(std::uint64_t));
        return copy;
    }
    py::array view(py::dtype::of<std::uint64_t>(),
                   {static_cast<py::ssize_t>(rows.size()), static_cast<py::ssize_t>(events)},
                   {distance, static_cast<py::ssize_t>(sizeof(std::uint64_t))}, rows[0], self);
    view.attr("setflags")("write"_a = false);
    return view;
}

class Group : public Constructed {
  public:
    Group(const std::string& events, const std::optional<std::string>& cpus,
          const std::string& cgroup, const std::string& backend, bool quiet, bool skip_isolated,
          bool start_disabled)
        : of_cgroup_(!cgroup.empty()) {
        MetaGroup::Options options;
        if (cpus) options.cpus = CpuList::parse(*cpus);
        options.cgroup = cgroup;
        options.backend = backend_named(backend);
        options.mode = {.quiet = quiet, .skip_isolated = skip_isolated};
        options.start_disabled = start_disabled;
        {
            const Unlocked unlocked;
            options.groups = parse_events(events);
            group_.open(MetaGroup::open(options));
        }
        group_.use([&](const MetaGroup& group) {
            auto records = std::make_shared<Records>(group.groups().size());
            for (std::size_t i = 0; i < group.members().size(); ++i)
                records->at(group.members()[i].group).push_back(i);
            records_ = std::move(records);
        });
    }

    // Calls without the interpreter's lock. \throws std::invalid_argument if the group is closed.
    template <class Call>
    auto use(const Call& call) {
        return group_.use(call);
    }
    void close() { group_.close(); }

    std::unique_ptr<Sweep> read() {
        auto sweep = construct<Sweep>(records_);
        use([&](MetaGroup& group) { group.read(sweep->snapshot); });
        return sweep;
    }

    // An accumulator for snapshots of this group.
    std::unique_ptr<SweepSums> sums(const std::string& places) {
        return use([&](const MetaGroup& group) {
            return construct<SweepSums, const MetaGroup&>(group, places, of_cgroup_, records_);
        });
    }

    std::vector<std::vector<std::string>> events() {
        return use([](const MetaGroup& group) {
            std::vector<std::vector<std::string>> names;
            for (const GroupSpec& spec : group.groups()) {
                names.emplace_back();
                for (const EventSpec& event : spec.events)
                    names.back().push_back(event.name);
            }
            return names;
        });
    }

    // By group and event, for description_of().
    std::vector<std::vector<Column>> columns_of_groups() {
        return use([](const MetaGroup& group) {
            std::vector<std::vector<Column>> all;
            for (const GroupSpec& spec : group.groups()) {
                all.emplace_back();
                for (const EventSpec& event : spec.events)
                    all.back().push_back(column_of(event));
            }
            return all;
        });
    }

    std::vector<int> cpus(std::size_t number) {
        const std::vector<std::size_t>& records = records_of(*records_, number);
        return use([&](const MetaGroup& group) {
            std::vector<int> all;
            for (const std::size_t i : records)
                all.push_back(group.members()[i].cpu);
            return all;
        });
    }

    std::vector<std::pair<int, std::size_t>> members() {
        return use([](const MetaGroup& group) {
            std::vector<std::pair<int, std::size_t>> all;
            for (const MetaGroup::Member& member : group.members())
                all.emplace_back(member.cpu, member.group);
            return all;
        });
    }

    std::size_t columns() {
        return use([](const MetaGroup& group) {
            std::size_t most = 0;
            for (const GroupSpec& spec : group.groups())
                most = std::max(most, spec.events.size());
            return most;
        });
    }

  private:
    static Backend backend_named(const std::string& name) {
        for (const Backend backend :
             {Backend::automatic, Backend::module, Backend::per_fd, Backend::percpu})
            if (to_string(backend) == name) return backend;
        throw std::invalid_argument("unknown backend '" + name +
                                    "': automatic, module, per-fd or percpu");
    }

    bool of_cgroup_;
    Shared<MetaGroup> group_{"the meta-group is closed"};
    std::shared_ptr<const Records> records_;
};

// A stream of a group.
class Sampling : public Constructed {
  public:
    Sampling(Group& group, double period) : columns_(group.columns()) {
        const Stream::Options options{.period = duration(period)};
        stream_.open(group.use([&](MetaGroup& open) { return Stream::start(open, options); }));
    }

    // The available samples, copied because the rings are reused. `counts` has a column for each
    // event of the largest group, and 0 where a group has no such event.
    py::dict read(double timeout) {
        wait(duration(timeout));
        std::vector<std::uint64_t> time, deadline, lost, enabled, running, counts;
        std::vector<std::int32_t> cpu, member;
        stream_.use([&](Stream& stream) {
            for (auto some = stream.read(); !some.empty(); some = stream.read())
                for (const Deadline& all : some)
                    for (const Sample& sample : all) {
                        deadline.push_back(all.time_ns());
                        time.push_back(sample.time_ns());
                        lost.push_back(sample.lost());
                        enabled.push_back(sample.time_enabled().value_or(sample.time_ns()));
                        running.push_back(sample.time_running().value_or(enabled.back()));
                        cpu.push_back(sample.cpu());
                        member.push_back(static_cast<std::int32_t>(sample.index()));
                        for (std::size_t i = 0; i < columns_; ++i)
                            counts.push_back(sample.raw(i).value_or(0));
                    }
        });
        return py::dict(
            "deadline"_a = array_of(deadline), "time"_a = array_of(time), "cpu"_a = array_of(cpu),
            "member"_a = array_of(member), "lost"_a = array_of(lost),
            "time_enabled"_a = array_of(enabled), "time_running"_a = array_of(running),
            "counts"_a = array_of(counts).reshape(
                {static_cast<py::ssize_t>(time.size()), static_cast<py::ssize_t>(columns_)}));
    }

    std::uint64_t stop() {
        return stream_.use([](Stream& stream) { return stream.stop(); });
    }
    std::uint64_t period_ns() {
        return stream_.use([](const Stream& stream) { return stream.period_ns(); });
    }

  private:
    using Clock = std::chrono::steady_clock;

    static std::chrono::nanoseconds duration(double seconds) {
        if (std::isnan(seconds)) throw std::invalid_argument("a time must be a number, not NaN");
        constexpr double most = 1e9;  // a nanosecond count fits into 64 bits
        return std::chrono::round<std::chrono::nanoseconds>(
            std::chrono::duration<double>(std::clamp(seconds, -most, most)));
    }

    // In steps: the library does not return on a signal, and other threads may need to stop the
    // stream.
    void wait(std::chrono::nanoseconds timeout) {
        constexpr std::chrono::nanoseconds step = std::chrono::milliseconds(50);
        const bool for_ever = timeout.count() < 0;
        const Clock::time_point begin = Clock::now();
        for (;;) {
            const auto left = for_ever ? step : timeout - (Clock::now() - begin);
            const auto now = std::clamp(left, std::chrono::nanoseconds(0), step);
            const Stream::Wake wake = stream_.use([&](Stream& stream) { return stream.wait(now); });
            check_signals();
            if (wake != Stream::Wake::timeout || (!for_ever && left <= step)) return;
        }
    }

    Shared<Stream> stream_{"the stream is closed"};
    std::size_t columns_;
};

// The memory of a column, freed with the array.
template <typename Number>
py::array given_away(NumberColumn<Number>& column) {
    auto* const owner = new NumberColumn<Number>(std::move(column));
    const py::capsule end(owner,
                          [](void* gone) { delete static_cast<NumberColumn<Number>*>(gone); });
    return py::array_t<Number>(static_cast<py::ssize_t>(owner->size()), owner->data(), end);
}

// All counts of a recording, by time and CPU.
py::dict read_recording(const std::string& path) {
    const auto [opened, filled] = [&] {
        const Unlocked unlocked;
        auto from = std::make_unique<Recording>(path);
        auto to = std::make_unique<RecordingTable>(*from);
        while (to->step()) {
        }
        return std::pair(std::move(from), std::move(to));
    }();
    const Recording& recording = *opened;
    RecordingTable& table = *filled;
    const auto given_column = [](CountColumn& column) {
        return py::make_tuple(given_away(column.values), given_away(column.missing));
    };
    std::set<int> known(table.cpus.begin(), table.cpus.end());
    const CpuList recorded = recording.cpus();
    known.insert(recorded.begin(), recorded.end());
    const CpuList all({known.begin(), known.end()});
    std::map<std::size_t, py::list> events;  // by leader
    for (const auto& [i, leader] : table.leaders) {
        const RecordedEvent& event = recording.events()[i];
        if (event.is_timer()) continue;
        py::dict description = description_of(column_of(event));
        const CpuList counting = counting_cpus(event, CpuList(table.sampled[leader]), all);
        description["cpus"] = std::vector<int>(counting.begin(), counting.end());
        events[leader].append(
            py::make_tuple(text_of(event.name), description, given_column(table.events[i])));
    }
    py::list groups;
    for (const auto& [leader, of_group] : events)
        groups.append(py::make_tuple(of_group, given_column(table.enabled[leader]),
                                     given_column(table.running[leader])));
    py::list remarks;
    for (const std::string& remark : recording.remarks())
        remarks.append(text_of(remark));
    std::vector<TableSums::CpuNumbers> topology;
    for (const CpuPlace& at : recording.topology())
        topology.push_back({at.socket, at.die, at.core, at.node, at.cache_level, at.cache});
    return py::dict(
        "times"_a = given_away(table.times), "time_codes"_a = given_away(table.time_codes),
        "cpus"_a = table.cpus, "cpu_codes"_a = given_away(table.cpu_codes), "groups"_a = groups,
        "recorded_cpus"_a = std::vector<int>(all.begin(), all.end()), "topology"_a = topology,
        "lost"_a = table.lost, "period_ns"_a = recording.period_ns(),
        "finished"_a = recording.finished(), "remarks"_a = remarks);
}

}  // namespace

PYBIND11_MODULE(_metagroup, module) {
    // pybind11 imports numpy with the first array. Other threads would wait for that and hold the
    // interpreter's lock, which the import needs.
    py::dtype::of<std::uint64_t>();
    static const py::exception<Error> error(module, "Error", PyExc_OSError);
    py::register_exception_translator([](std::exception_ptr thrown) {
        try {
            if (thrown) std::rethrow_exception(thrown);
        } catch (const Error& e) {
            PyErr_SetObject(error.ptr(), py::make_tuple(e.code().value(), text_of(e.what())).ptr());
        }
    });
    module.attr("__version__") = METAGROUP_VERSION_STRING;

    py::class_<Sweep>(module, "Snapshot")
        .def("counts", &counts_of, "group"_a = 0)
        .def(
            "times",
            [](const Sweep& sweep, std::size_t group) {
                return sweep.field<std::uint64_t>(group, [](auto r) { return r.time_ns(); });
            },
            "group"_a = 0)
        .def(
            "cpus",
            [](const Sweep& sweep, std::size_t group) {
                return sweep.field<std::int32_t>(group, [](auto r) { return r.cpu(); });
            },
            "group"_a = 0)
        .def(
            "enabled",
            [](const Sweep& sweep, std::size_t group) {
                return sweep.field<std::uint64_t>(
                    group, [](auto r) { return known(r, r.time_enabled()); });
            },
            "group"_a = 0)
        .def(
            "running",
            [](const Sweep& sweep, std::size_t group) {
                return sweep.field<std::uint64_t>(
                    group, [](auto r) { return known(r, r.time_running()); });
            },
            "group"_a = 0)
        .def(
            "status",
            [](const Sweep& sweep, std::size_t group) {
                std::vector<std::string> all;
                for (const std::size_t i : sweep.of(group))
                    all.emplace_back(to_string(sweep.snapshot[i].status()));
                return all;
            },
            "group"_a = 0)
        .def_property_readonly("begin_ns", [](const Sweep& s) { return s.snapshot.begin_ns(); })
        .def_property_readonly("end_ns", [](const Sweep& s) { return s.snapshot.end_ns(); });

    py::class_<Group>(module, "MetaGroup")
        .def(py::init(&construct<Group, const std::string&, const std::optional<std::string>&,
                                 const std::string&, const std::string&, bool, bool, bool>),
             "events"_a, py::kw_only(), "cpus"_a = py::none(), "cgroup"_a = "",
             "backend"_a = "automatic", "quiet"_a = false, "skip_isolated"_a = false,
             "start_disabled"_a = false)
        .def("read", &Group::read)
        .def("enable", [](Group& group) { group.use([](MetaGroup& open) { open.enable(); }); })
        .def("disable", [](Group& group) { group.use([](MetaGroup& open) { open.disable(); }); })
        .def("reset", [](Group& group) { group.use([](MetaGroup& open) { open.reset(); }); })
        .def("close", &Group::close)
        .def("cpus", &Group::cpus, "group"_a = 0)
        .def_property_readonly("events", &Group::events)
        .def_property_readonly("members", &Group::members)
        .def_property_readonly("_descriptions",
                               [](Group& group) {
                                   py::list all;
                                   for (const auto& columns : group.columns_of_groups()) {
                                       py::list descriptions;
                                       for (const Column& column : columns)
                                           descriptions.append(description_of(column));
                                       all.append(descriptions);
                                   }
                                   return all;
                               })
        .def_property_readonly("backend",
                               [](Group& group) {
                                   return group.use([](const MetaGroup& open) {
                                       return std::string(to_string(open.backend()));
                                   });
                               })
        .def_property_readonly("backend_reason",
                               [](Group& group) {
                                   return group.use([](const MetaGroup& open) {
                                       return std::string(open.backend_reason());
                                   });
                               })
        .def("__enter__", [](const py::object& self) { return self; })
        .def("__exit__", [](Group& group, const py::args&) { group.close(); });

    py::class_<SweepSums>(module, "Accumulator")
        .def(py::init([](Group& group, const std::string& by) { return group.sums(by); }),
             "group"_a, "by"_a = "all")
        .def(
            "add",
            [](SweepSums& sums, const Sweep& sweep) { sums.add(sweep.snapshot, sweep.records); },
            "snapshot"_a)
        .def("sums", &SweepSums::sums);
    py::class_<TableSums>(module, "TableSums")
        .def(py::init<const TableSums::Groups&, const TableSums::Topology&, const std::string&,
                      std::pair<std::uint64_t, std::uint64_t>, std::optional<std::uint64_t>>())
        .def("add", &TableSums::add)
        .def("sums", &TableSums::sums);

    py::class_<Sampling>(module, "Stream")
        .def(py::init(&construct<Sampling, Group&, double>), "group"_a, "period"_a,
             py::keep_alive<1, 2>())
        .def("read", &Sampling::read, "timeout"_a = 1.0)
        .def("stop", &Sampling::stop)
        .def_property_readonly("period_ns", &Sampling::period_ns)
        .def("__enter__", [](const py::object& self) { return self; })
        .def("__exit__", [](Sampling& stream, const py::args&) { stream.stop(); });

    module.def("read_recording", &read_recording, "path"_a);
}
