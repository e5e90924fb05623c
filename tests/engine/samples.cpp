// SPDX-License-Identifier: MIT
#include "samples.hpp"

#include "random.hpp"

#include <set>

namespace ct3d::engine {
namespace {

constexpr int dimensions = 5;

struct Sampler {
    const Index extent;
    uint64_t state;

    int64_t below(int64_t count) {
        state = mix(state);
        return static_cast<int64_t>(state % static_cast<uint64_t>(count));
    }

    Index any() {
        Index index;
        for (size_t d = 0; d < dimensions; ++d)
            index[d] = below(extent[d]);
        return index;
    }

    // An element at the first or the last coordinate of each dimension whose bit is set in `ends`.
    Index at_ends(unsigned ends, unsigned lasts) {
        Index index = any();
        for (size_t d = 0; d < dimensions; ++d)
            if (ends >> d & 1)
                index[d] = lasts >> d & 1 ? extent[d] - 1 : 0;
        return index;
    }

    // An output that an input reaches: with strides larger than kernels most random ones are not.
    Index reached(const ct3d_problem &p) {
        Index index = any();
        for (int axis = 0; axis < 3; ++axis) {
            const int64_t o =
                below(p.in[axis]) * p.stride[axis] - p.pad_begin[axis] + below(p.kernel[axis]) * p.dilation[axis];
            const auto d = static_cast<size_t>(2 + axis);
            if (o >= 0 && o < extent[d])
                index[d] = o;
        }
        return index;
    }
};

} // namespace

std::vector<Index> sample(const ct3d_problem &p, Role role, int64_t count, uint64_t seed) {
    constexpr unsigned every = (1u << dimensions) - 1;
    constexpr int per_edge = 16;
    Sampler sampler{shape(p, role), mix(seed)};
    std::set<Index> indices;
    for (unsigned lasts = 0; lasts <= every; ++lasts)
        indices.insert(sampler.at_ends(every, lasts));
    for (unsigned free = 2; free < dimensions; ++free)
        for (unsigned lasts = 0; lasts < 8; ++lasts)
            for (int i = 0; i < per_edge; ++i)
                indices.insert(sampler.at_ends((7u << 2) & ~(1u << free), lasts << 2));
    for (bool reached = role == Role::y; static_cast<int64_t>(indices.size()) < count; reached = !reached)
        indices.insert(reached && role == Role::y ? sampler.reached(p) : sampler.any());
    return {indices.begin(), indices.end()};
}

} // namespace ct3d::engine
