// SPDX-License-Identifier: MIT
#include "top/model.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tool {

void History::add(std::optional<double> value) {
    newest_ = (newest_ + 1) % kLength;
    values_[newest_] = value;
}

std::optional<double> History::ago(std::size_t steps) const {
    if (steps >= kLength) return std::nullopt;
    return values_[(newest_ + kLength - steps) % kLength];
}

double History::peak(std::size_t length) const {
    double highest = 0;
    for (std::size_t steps = 0; steps < length; ++steps)
        highest = std::max(highest, ago(steps).value_or(0));
    return highest;
}

Model::Model(std::vector<Place> places, std::vector<Series> series)
    : places_(std::move(places)),
      series_(std::move(series)),
      cells_((places_.size() + 1) * series_.size()),
      histories_(cells_.size()),
      order_(places_.size()) {
    for (const Place& place : places_)
        online_.push_back(place.cpus);
    sort();
}

void Model::update(const Update& update) {
    cells_ = update.cells;
    online_ = update.online;
    for (std::size_t i = 0; i < cells_.size(); ++i)
        histories_[i].add(cells_[i].value);
    sort();
}

void Model::sort_by(std::size_t column) {
    if (column > series_.size()) return;
    if (column == sorted_by_) {
        reverse();
        return;
    }
    sorted_by_ = column;
    descending_ = column != kByPlace;
    sort();
}

void Model::sort_left() {
    if (sorted_by_ > 0) sort_by(sorted_by_ - 1);
}

void Model::sort_right() {
    if (sorted_by_ < series_.size()) sort_by(sorted_by_ + 1);
}

void Model::reverse() {
    descending_ = !descending_;
    sort();
}

void Model::sort() {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    if (sorted_by_ == kByPlace) {
        if (descending_) std::ranges::reverse(order_);
        return;
    }
    const auto value = [&](std::size_t place) { return cell(place, sorted_by_ - 1).value; };
    std::ranges::stable_sort(order_, [&](std::size_t a, std::size_t b) {
        if (!value(a) || !value(b)) return value(a).has_value() > value(b).has_value();
        return descending_ ? *value(a) > *value(b) : *value(a) < *value(b);
    });
}

double Model::peak(std::size_t series, std::size_t length) const {
    double highest = 0;
    for (std::size_t place = 0; place < places_.size(); ++place)
        highest = std::max(highest, history(place, series).peak(length));
    return highest;
}

}  // namespace tool
