// SPDX-License-Identifier: MIT
// How a CPU kernel divides its workspace, and how much it may ask for.
#pragma once

#include "../backend.hpp"

namespace ct3d::cpu {

constexpr uint64_t workspace_alignment = 256;

constexpr uint64_t aligned_size(uint64_t bytes) {
    return (bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
}

// Twice the tensors and weights, all counted as f32, and 1 MiB per thread.
uint64_t workspace_limit(const PlanContext &);

// Hands out parts of a workspace, each aligned.
class Parts {
public:
    explicit Parts(void *workspace) : next_(static_cast<unsigned char *>(workspace)) {}

    template <class T> T *take(uint64_t bytes) {
        void *part = next_;
        next_ += aligned_size(bytes);
        return static_cast<T *>(part);
    }

private:
    unsigned char *next_;
};

} // namespace ct3d::cpu
