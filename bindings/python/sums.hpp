// SPDX-License-Identifier: MIT
// The library's sums for Python, from sweeps or from the rows of a table.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <metagroup/accumulator.hpp>
#include <metagroup/aggregation.hpp>
#include <metagroup/counts.hpp>
#include <metagroup/metagroup.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "objects.hpp"

namespace metagroup::python {

namespace py = pybind11;

/// The unit of values.
std::string unit_of(const Column& column);

class SweepSums : public Constructed {
  public:
    /// Only sweeps with this `source` may be added. \throws std::invalid_argument if the name of
    /// the places is unknown.
    SweepSums(const MetaGroup& group, const std::string& places, bool of_cgroup,
              std::shared_ptr<const void> source);

    /// \throws std::invalid_argument if the source is another.
    void add(const SnapshotView& sweep, const std::shared_ptr<const void>& source);
    /// By place and event.
    py::dict sums();

  private:
    Aggregation rows_;
    std::shared_ptr<const CountLayout> layout_;
    Accumulator accumulator_;
    Counts counts_;
    std::shared_ptr<const void> source_;
    std::uint64_t begin_ = 0;  // ns, of the first sweep
    std::uint64_t end_ = 0;
};

class TableSums {
  public:
    template <typename Number>
    using Array = py::array_t<Number, py::array::c_style | py::array::forcecast>;

    using Event =
        std::tuple<std::string, std::string, double, bool>;  ///< name, unit, scale, reading
    /// Events, and the CPUs that count them.
    using Groups = std::vector<std::pair<std::vector<Event>, std::vector<int>>>;
    using CpuNumbers = std::array<int, 6>;  ///< CpuPlace
    using Topology = std::optional<std::vector<CpuNumbers>>;

    /// Without `topology`, that of this machine is used. `extent` is the first and the last time,
    /// `interval` is in ns.
    TableSums(const Groups& groups, const Topology& topology, const std::string& places,
              std::pair<std::uint64_t, std::uint64_t> extent,
              std::optional<std::uint64_t> interval);

    /// Adds the rows of a group, in order of time; `counts` are by event. \return by row and event,
    /// the value per second since the previous row of the same CPU; NaN where unknown.
    py::array_t<double> add(std::size_t group, const Array<std::uint64_t>& times,
                            const Array<std::int32_t>& cpus, const Array<std::uint64_t>& enabled,
                            const Array<std::uint64_t>& running,
                            const std::vector<Array<std::uint64_t>>& counts);
    /// The sums of the whole time, or of each interval, with its end.
    py::list sums();

  private:
    struct Group {
        std::size_t column = 0;  // of the first event
        std::size_t events = 0;
        std::map<int, std::size_t> lanes{};  // by CPU
    };

    std::vector<Group> groups_{};
    Aggregation rows_;
    std::shared_ptr<const CountLayout> layout_;
    Accumulator accumulator_;
    Counts whole_;
    std::pair<std::uint64_t, std::uint64_t> extent_;
    std::optional<Intervals> intervals_;
};

}  // namespace metagroup::python
