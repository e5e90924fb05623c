// SPDX-License-Identifier: MIT
// The memory of one execute: which tensors an operation names, and whether the caller's are fit for it.
#pragma once

#include "desc.hpp"

#include <array>
#include <span>

namespace ct3d {

struct Tensor {
    const char *name;
    void *address; // null: not given
    uint64_t bytes;
    bool written;
    bool optional;
};

// The tensors that an operation reads and writes.
class Tensors {
public:
    Tensors(const Desc &, const ct3d_buffers &);
    const Tensor *begin() const { return list_.data(); }
    const Tensor *end() const { return list_.data() + count_; }

private:
    void add(const char *name, const void *address, int64_t elements, bool written, bool optional = false);

    size_t element_size_;
    std::array<Tensor, 4> list_;
    size_t count_ = 0;
};

// Throws Error(CT3D_INVALID_ARGUMENT) for a buffer that is missing, misaligned, overlapping or too small. The bias is
// null where the problem has none.
ct3d_buffers check_buffers(const Desc &, const ct3d_buffers *, uint64_t workspace_size);

} // namespace ct3d
