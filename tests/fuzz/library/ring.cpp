// SPDX-License-Identifier: MIT
// Two rings of a stream with any contents: nothing is read beyond them, deadlines are in order, and
// what is no record is refused.
#include <metagroup/error.hpp>

#include "deadlines.hpp"
#include "input.hpp"
#include "unit/fake_ring.hpp"

namespace metagroup::fuzz {
namespace {

class AnySampler final : public detail::Sampler {
  public:
    std::uint64_t stop() override { return 0; }
};

}  // namespace

void ring(Bytes input) {
    Input numbers(input);
    const auto order =
        numbers.below(2) == 0 ? detail::Ring::Order::forward : detail::Ring::Order::backward;
    AnySampler sampler;
    sampler.common = numbers.below(2) == 0;
    sampler.hidden = numbers.below(2);
    sampler.origins = {{1, 0, ReadFormat::group}, {2, 1, ReadFormat::total_time_enabled}};
    const std::uint64_t begin = 8ULL * numbers.take<std::uint16_t>();
    const std::uint64_t length = numbers.take<std::uint16_t>();
    const test::FakeRing first(test::FakeRing::page, begin);
    const test::FakeRing second(test::FakeRing::page, begin);
    const std::size_t half = numbers.rest().size() / 2;
    const auto fill = [&](const test::FakeRing& fake, Bytes bytes) {
        const bool forward = order == detail::Ring::Order::forward;
        fake.head().data_head = forward ? begin + length : 0 - length;
        fake.put(forward ? begin : 0 - length, {bytes.begin(), bytes.end()});
    };
    fill(first, numbers.rest().first(half));
    fill(second, numbers.rest().subspan(half));
    try {
        for (const test::FakeRing* fake : {&first, &second})
            sampler.rings.emplace_back(fake->fd(), 0, fake->bytes(), order, "a ring");
        detail::DeadlineReader reader(sampler, 1000);
        std::uint64_t last = 0;
        std::size_t samples = 0;
        for (std::uint64_t expired : {std::uint64_t{0}, std::uint64_t{5000}, UINT64_MAX}) {
            for (const Deadline& deadline : reader.read(expired)) {
                demand(deadline.time_ns() >= last, "deadlines are in order");
                demand(deadline.size() > 0, "a deadline has samples");
                last = deadline.time_ns();
                for (const Sample& sample : deadline) {
                    demand(sample.index() < 2, "a sample is of a member");
                    demand(sample.lost() == 0 || sample.nr() == 0, "a loss has no counts");
                    for (std::size_t i = 0; i < sample.nr(); ++i)
                        demand(sample.raw(i).has_value(), "every event has a count");
                    ++samples;
                }
            }
        }
        // With a loss before each.
        demand(samples <= 4 * test::FakeRing::page / detail::sample_head, "samples take space");
    } catch (const Error& error) {
        demand(error.cause() == Cause::bad_ring, "only the contents are refused");
    }
}

}  // namespace metagroup::fuzz
