// SPDX-License-Identifier: MIT
#include "ring.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "diagnostics.hpp"
#include "format.hpp"

namespace metagroup::detail {
namespace {

// Bytes of `sample_id_all`: TIME, CPU and IDENTIFIER, at the end of all records except samples.
constexpr std::size_t sample_id = 24;
// Enough for a group of sixty events; grows for larger records.
constexpr std::size_t usual_record = 1024;

}  // namespace

Ring::Ring(int fd, std::uint64_t offset, std::size_t bytes, Order order, std::string name)
    : order_(order), name_(std::move(name)), wrapped_(usual_record) {
    // If the reader maps a ring read-only, the writer ignores data_tail and overwrites.
    const int protection = order == Order::forward ? PROT_READ | PROT_WRITE : PROT_READ;
    void* const memory =
        ::mmap(nullptr, bytes, protection, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (memory == MAP_FAILED)
        throw_error(Call::map_ring, errno, detail::format("cannot map {}", name_),
                    {.bytes = bytes});
    memory_ = {static_cast<std::byte*>(memory), bytes};
    // Read once: the memory may change at any time.
    const std::uint64_t begin = page().data_offset;
    size_ = page().data_size;
    if (begin < sizeof(perf_event_mmap_page) || begin > bytes || size_ > bytes - begin ||
        !std::has_single_bit(size_)) {
        ::munmap(memory, bytes);
        refuse(detail::format("its data has {} bytes at offset {} of {}", size_, begin, bytes));
    }
    data_ = memory_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size_));
    if (order == Order::forward) released_ = begin_ = end_ = head_ = page().data_tail;
}

Ring::Ring(Ring&& other) noexcept
    : memory_(std::exchange(other.memory_, {})),
      data_(other.data_),
      size_(other.size_),
      order_(other.order_),
      name_(std::move(other.name_)),
      head_(other.head_),
      begin_(other.begin_),
      end_(other.end_),
      released_(other.released_),
      listed_(other.listed_),
      positions_(std::move(other.positions_)),
      newest_(other.newest_),
      has_front_(other.has_front_),
      front_(other.front_),
      wrapped_(std::move(other.wrapped_)),
      ordered_(std::move(other.ordered_)) {}

Ring::~Ring() {
    if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

void Ring::refuse(std::string reason) const {
    throw Error(Cause::bad_ring, EBADMSG,
                {detail::format("cannot read {}", name_), std::move(reason),
                 "stop the stream and start a new one; if it happens again, report it as a bug in "
                 "the module or the kernel"});
}

void Ring::copy(std::uint64_t at, std::span<std::byte> to) const noexcept {
    const auto begin = static_cast<std::size_t>(at % size_);
    const std::size_t first = std::min(to.size(), data_.size() - begin);
    std::memcpy(to.data(), data_.data() + begin, first);
    if (first < to.size()) std::memcpy(to.data() + first, data_.data(), to.size() - first);
}

// A copy, since the memory may change between check and use.
perf_event_header Ring::header(std::uint64_t at) const {
    perf_event_header header{};
    copy(at, std::as_writable_bytes(std::span(&header, 1)));
    if (header.size < sizeof(header) || header.size % sizeof(std::uint64_t) != 0)
        refuse(detail::format("the record at {} has {} bytes", at % size_, header.size));
    return header;
}

std::span<const std::byte> Ring::record(std::uint64_t at, std::size_t size) {
    const auto begin = static_cast<std::size_t>(at % size_);
    if (size <= data_.size() - begin) return data_.subspan(begin, size);
    // At most one record in the unreleased part of the ring wraps around.
    if (wrapped_.size() < size) wrapped_.resize(size);
    const std::span<std::byte> whole = std::span(wrapped_).first(size);
    copy(at, whole);
    return whole;
}

// No value for records of other types.
std::optional<RingRecord> Ring::parse(std::uint64_t at, perf_event_header header) {
    std::size_t least = sample_head;
    if (header.type == PERF_RECORD_LOST)
        least += 2 * sizeof(std::uint64_t);
    else if (header.type == PERF_RECORD_LOST_SAMPLES)
        least += sizeof(std::uint64_t);
    else if (header.type != PERF_RECORD_SAMPLE)
        return std::nullopt;
    if (header.size < least)
        refuse(detail::format("the record at {} of type {} has only {} bytes", at % size_,
                              header.type, header.size));
    const std::span<const std::byte> bytes = record(at, header.size);
    if (header.type == PERF_RECORD_SAMPLE) return sample(bytes);
    // `id` and `lost`, or `lost`.
    const auto lost = number<std::uint64_t>(bytes, header.type == PERF_RECORD_LOST ? 16 : 8);
    if (lost == 0) return std::nullopt;
    const auto tail = bytes.last(sample_id);
    return RingRecord{.id = number<std::uint64_t>(tail, 16),
                      .time = number<std::uint64_t>(tail, 0),
                      .cpu = number<int>(tail, 8),
                      .lost = lost};
}

// From the newest record, at data_head, to the oldest, which may be partly overwritten.
void Ring::list_backward() {
    const std::uint64_t head = __atomic_load_n(&page().data_head, __ATOMIC_ACQUIRE);
    // The writer started at position 0 and went downwards.
    const std::uint64_t written = std::min(0 - head, size_);
    for (std::uint64_t at = 0; at < written;) {
        const std::uint16_t size = header(head + at).size;
        if (size > written - at) break;
        positions_.push_back(head + at);
        at += size;
    }
}

void Ring::update() {
    if (order_ == Order::forward) {
        // Pairs with the writer's barrier between the records and data_head.
        const std::uint64_t head = __atomic_load_n(&page().data_head, __ATOMIC_ACQUIRE);
        if (head % sizeof(std::uint64_t) != 0 || head - begin_ > size_ ||
            head - begin_ < head_ - begin_)
            refuse(
                detail::format("data_head is {} after {}, with data_tail {}", head, head_, begin_));
        head_ = head;
    } else if (!std::exchange(listed_, true)) {
        list_backward();
    }
    if (!has_front_) pop();
}

void Ring::pop_any() {
    std::optional<RingRecord> next;
    for (has_front_ = false; !next;) {
        begin_ = end_;
        if (order_ == Order::backward) {
            if (positions_.empty()) return;
            begin_ = positions_.back();
            positions_.pop_back();
            next = parse(begin_, header(begin_));
        } else {
            if (begin_ == head_) return;
            next = take(end_);
        }
    }
    front_ = *next;
    has_front_ = true;
    if (front_.lost == 0) newest_ = front_.time;
}

perf_event_header Ring::whole(std::uint64_t at) const {
    const perf_event_header next = header(at);
    if (next.size > head_ - at)
        refuse(detail::format("the record at {} has {} bytes, but only {} were written", at % size_,
                              next.size, head_ - at));
    return next;
}

// The record at `at`; moves `at` to its end.
std::optional<RingRecord> Ring::take(std::uint64_t& at) {
    const std::uint64_t begin = at;
    const perf_event_header next = whole(begin);
    at += next.size;
    return parse(begin, next);
}

void Ring::take_all(std::vector<Records>& pieces) {
    const auto add = [&](Records records) {
        pieces.push_back(records);
        newest_ = std::max(newest_, records.last_ns());
        return records.bytes().size();
    };
    update();
    if (order_ == Order::backward) {
        while (has_front_) {
            const std::span<const std::byte> bytes = record(begin_, header(begin_).size);
            ordered_.insert(ordered_.end(), bytes.begin(), bytes.end());
            pop();
        }
        if (!ordered_.empty()) add(Records(ordered_));
        return;
    }
    for (std::uint64_t at = begin_; at != head_;) {
        // The records before the one that wraps around, that record, and those after it.
        const auto begin = static_cast<std::size_t>(at % size_);
        const auto length = static_cast<std::size_t>(std::min(head_ - at, size_ - begin));
        const Records records(data_.subspan(begin, length));
        if (!records.bytes().empty()) at += add(records);
        if (records.bytes().size() < length) at += add(Records(record(at, whole(at).size)));
    }
    has_front_ = false;
    begin_ = end_ = head_;
}

std::uint64_t Ring::newest_time() {
    std::uint64_t newest = newest_;
    for (std::uint64_t at = end_; at != head_;) {
        const auto record = take(at);
        if (record && record->lost == 0) newest = record->time;
    }
    return newest;
}

}  // namespace metagroup::detail
