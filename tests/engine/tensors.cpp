// SPDX-License-Identifier: MIT
#include "tensors.hpp"

#include "device_tensors.hpp"
#include "dtype.hpp"

#include <algorithm>

namespace ct3d::engine {
namespace {

uint64_t role_bytes(const ct3d_problem &p, Role role) {
    return static_cast<uint64_t>(elements(p, role)) * element_size(p.dtype);
}

} // namespace

Tensors::Tensors(const Case &c, Place place, uint64_t seed, uint64_t workspace, Filled filled)
    : place_(place), filled_(filled) {
    const ct3d_problem &p = c.problem;
    switch (p.op) {
    case CT3D_FORWARD:
        add_input(x_, c, seed, Operand::first, Role::x);
        add_input(w_, c, seed, Operand::second, Role::w);
        if (p.has_bias)
            add_input(bias_, c, seed, Operand::bias, Role::bias);
        add_output(y_, c, Role::y);
        break;
    case CT3D_BACKWARD_DATA:
        add_input(dy_, c, seed, Operand::first, Role::y);
        add_input(w_, c, seed, Operand::second, Role::w);
        add_output(dx_, c, Role::x);
        break;
    default:
        add_input(x_, c, seed, Operand::first, Role::x);
        add_input(dy_, c, seed, Operand::second, Role::y);
        add_output(dw_, c, Role::w);
        if (p.has_bias)
            add_output(dbias_, c, Role::bias);
    }
    if (workspace > 0)
        workspace_.buffer = std::make_unique<Guarded>(place_, workspace, 0, Guarded::pattern, Guarded::nan);
}

void Tensors::add_input(Slot &slot, const Case &c, uint64_t seed, Operand operand, Role role) {
    slot.buffer = std::make_unique<Guarded>(place_, role_bytes(c.problem, role), c.offset, Guarded::nan, Guarded::nan);
    if (filled_ == Filled::on_device) {
        fill_on_device(CudaDevice(place_.device), c, seed, operand, role, {c.problem.dtype}, slot.device());
        largest_ = std::max(largest_, largest_value(c.fill));
        return;
    }
    const double largest = fill_tensor(c, seed, operand, role, slot.host());
    if (operand != Operand::bias)
        largest_ = std::max(largest_, largest);
    slot.buffer->upload();
}

void Tensors::add_output(Slot &slot, const Case &c, Role role) {
    slot.buffer =
        std::make_unique<Guarded>(place_, role_bytes(c.problem, role), c.offset, Guarded::pattern, Guarded::nan);
}

ct3d_buffers Tensors::buffers() const {
    ct3d_buffers b;
    ct3d_buffers_init(&b, sizeof b);
    b.x = x_.device();
    b.w = w_.device();
    b.bias = bias_.device();
    b.y = y_.device();
    b.dy = dy_.device();
    b.dx = dx_.device();
    b.dw = dw_.device();
    b.dbias = dbias_.device();
    b.workspace = workspace_.device();
    b.workspace_size = workspace_.buffer ? workspace_.buffer->bytes() : 0;
    return b;
}

Inputs Tensors::inputs() const { return {x_.host(), w_.host(), bias_.host(), dy_.host()}; }

const void *Tensors::output() const {
    for (const Slot *slot : {&y_, &dx_, &dw_})
        if (slot->buffer)
            return slot->host();
    return nullptr;
}

const void *Tensors::bias_gradient() const { return dbias_.host(); }

void Tensors::download() {
    for (const Slot *slot : {&y_, &dx_, &dw_, &dbias_})
        if (slot->buffer)
            slot->buffer->download();
}

std::string Tensors::broken() const {
    for (const Slot *slot : slots())
        if (slot->buffer && !slot->buffer->intact())
            return slot->name;
    return "";
}

std::array<const Tensors::Slot *, 9> Tensors::slots() const {
    return {&x_, &w_, &bias_, &y_, &dy_, &dx_, &dw_, &dbias_, &workspace_};
}

} // namespace ct3d::engine
