// SPDX-License-Identifier: MIT
#include "buffers.hpp"

#include "status.hpp"
#include "structs.hpp"

#include <cinttypes>

namespace ct3d {

namespace {

constexpr uint64_t workspace_alignment = 256;

uint64_t address_of(const Tensor &t) { return reinterpret_cast<uintptr_t>(t.address); }

void check_tensor(const Tensor &t, uint64_t alignment) {
    if (!t.address) {
        if (t.bytes > 0 && !t.optional)
            throw Error(CT3D_INVALID_ARGUMENT, "buffers->%s is NULL, the operation needs %" PRIu64 " bytes", t.name,
                        t.bytes);
    } else if (address_of(t) % alignment != 0) {
        throw Error(CT3D_INVALID_ARGUMENT, "buffers->%s is %p, must be aligned to %" PRIu64 " bytes", t.name, t.address,
                    alignment);
    }
}

void check_overlap(const Tensor &a, const Tensor &b) {
    if (!(a.written || b.written) || !a.address || !b.address || a.bytes == 0 || b.bytes == 0)
        return;
    if (address_of(a) < address_of(b) + b.bytes && address_of(b) < address_of(a) + a.bytes)
        throw Error(CT3D_INVALID_ARGUMENT,
                    "buffers->%s (%p, %" PRIu64 " bytes) overlaps buffers->%s (%p, %" PRIu64 " bytes)", a.name,
                    a.address, a.bytes, b.name, b.address, b.bytes);
}

} // namespace

Tensors::Tensors(const Desc &d, const ct3d_buffers &b) : element_size_(element_size(d.dtype)) {
    switch (d.op) {
    case Op::forward:
        add("x", b.x, d.x_elements(), false);
        add("w", b.w, d.w_elements(), false);
        if (d.has_bias)
            add("bias", b.bias, d.out_channels, false);
        add("y", b.y, d.y_elements(), true);
        break;
    case Op::backward_data:
        add("dy", b.dy, d.y_elements(), false);
        add("w", b.w, d.w_elements(), false);
        add("dx", b.dx, d.x_elements(), true);
        break;
    case Op::backward_weights:
        add("x", b.x, d.x_elements(), false);
        add("dy", b.dy, d.y_elements(), false);
        add("dw", b.dw, d.w_elements(), true, true);
        add("dbias", b.dbias, d.out_channels, true, true);
        break;
    }
}

void Tensors::add(const char *name, const void *address, int64_t elements, bool written, bool optional) {
    list_[count_++] = {name, const_cast<void *>(address), static_cast<uint64_t>(elements) * element_size_, written,
                       optional};
}

ct3d_buffers check_buffers(const Desc &d, const ct3d_buffers *from, uint64_t workspace_size) {
    ct3d_buffers b = read_struct(from, "buffers");
    if (!d.has_bias)
        b.bias = nullptr;
    const Tensors tensors(d, b);
    for (const Tensor &t : tensors)
        check_tensor(t, element_size(d.dtype));
    if (d.op == Op::backward_weights && !b.dw && !b.dbias)
        throw Error(CT3D_INVALID_ARGUMENT, "buffers->dw and buffers->dbias are both NULL, at least one must be given");
    const Tensor workspace{"workspace", b.workspace, workspace_size, true, false};
    check_tensor(workspace, workspace_alignment);
    if (b.workspace_size < workspace_size)
        throw Error(CT3D_INVALID_ARGUMENT, "buffers->workspace_size is %" PRIu64 ", the plan needs %" PRIu64,
                    b.workspace_size, workspace_size);
    for (const Tensor &t : tensors) {
        check_overlap(t, workspace);
        for (const Tensor *other = &t + 1; other != tensors.end(); ++other)
            check_overlap(t, *other);
    }
    return b;
}

} // namespace ct3d
