// SPDX-License-Identifier: MIT
#include "reporter.hpp"

namespace bench {

void JsonReporter::ReportRuns(const std::vector<Run>& runs) {
    std::vector<Run> ours = runs;
    for (Run& run : ours) {
        run.run_name.time_type.clear();
        run.run_name.iterations.clear();
    }
    JSONReporter::ReportRuns(ours);
}

bool Recorder::ReportContext(const Context& context) {
    return next_ == nullptr || next_->ReportContext(context);
}

void Recorder::ReportRuns(const std::vector<Run>& runs) {
    for (const Run& run : runs) {
        // Of a single repetition there is no median.
        if (!run.aggregate_name.empty() && run.aggregate_name != "median") continue;
        Result& result = results_[run.run_name.function_name];
        result.time = run.GetAdjustedRealTime();
        for (const auto& [name, counter] : run.counters)
            result.counters[name] = counter.value;
    }
    if (next_ != nullptr) next_->ReportRuns(runs);
}

void Recorder::Finalize() {
    if (next_ != nullptr) next_->Finalize();
}

}  // namespace bench
