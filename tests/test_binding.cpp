// SPDX-License-Identifier: MIT
// The C++ binding: ownership, exceptions, and the same values as the C functions.
#include "support.h"

#include <ct3d/ct3d.hpp>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

static_assert(!std::is_copy_constructible_v<ct3d::Plan> && !std::is_copy_assignable_v<ct3d::Plan>);
static_assert(std::is_nothrow_move_constructible_v<ct3d::Plan> && std::is_nothrow_move_assignable_v<ct3d::Plan>);
static_assert(!std::is_copy_constructible_v<ct3d::Memory>);
static_assert(sizeof(ct3d::Problem) == sizeof(ct3d_problem));

// The identity: one channel, kernel 1.
ct3d::Problem identity_problem() {
    ct3d::Problem p;
    p.in_channels = p.out_channels = 1;
    for (int axis = 0; axis < 3; ++axis) {
        p.in[axis] = 2;
        p.kernel[axis] = 1;
    }
    return p;
}

void plan_executes_and_describes(void **) {
    const ct3d::Problem p = identity_problem();
    const auto shape = p.output_shape();
    assert_true((shape == std::array<std::int64_t, 5>{1, 1, 2, 2, 2}));
    ct3d::PlanOptions options;
    options.kernel = "direct";
    const ct3d::Plan plan(p, options);
    assert_int_equal(plan.backend(), CT3D_BACKEND_CPU);
    assert_int_equal(plan.device(), 0);
    assert_true(plan.describe().find("direct") != std::string::npos);
    assert_int_equal(plan.describe(CT3D_DESCRIBE_JSON).front(), '{');

    const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
    const float w = 1;
    std::vector<float> y(8);
    const ct3d::Memory workspace = plan.new_workspace();
    assert_int_equal(workspace.size(), plan.workspace_size());
    ct3d::Buffers buffers;
    buffers.x = x.data();
    buffers.w = &w;
    buffers.y = y.data();
    buffers.workspace = workspace.data();
    buffers.workspace_size = workspace.size();
    plan.execute(buffers);
    assert_true(x == y);
}

void failures_are_exceptions(void **) {
    ct3d::Problem p = identity_problem();
    p.stride[1] = -4;
    bool caught = false;
    try {
        const ct3d::Plan plan(p);
    } catch (const ct3d::Error &error) {
        caught = true;
        assert_int_equal(error.status(), CT3D_INVALID_ARGUMENT);
        assert_true(std::string(error.what()).find("stride[1]") != std::string::npos);
    }
    assert_true(caught);
    caught = false;
    try {
        ct3d::Plan(identity_problem()).execute(ct3d::Buffers());
    } catch (const std::runtime_error &error) {
        caught = std::string(error.what()).find("x") != std::string::npos;
    }
    assert_true(caught);
    assert_string_equal(ct3d::Error(CT3D_DEVICE_ERROR, "").what(), "CT3D_DEVICE_ERROR");
}

void owners_move(void **) {
    ct3d::Plan first(identity_problem());
    const ct3d_plan *raw = first.get();
    ct3d::Plan second(std::move(first));
    assert_ptr_equal(second.get(), raw);
    assert_null(first.get()); // what a move leaves behind is part of the contract
    first = std::move(second);
    assert_ptr_equal(first.get(), raw);

    ct3d::Memory a(100);
    void *data = a.data();
    ct3d::Memory b(std::move(a));
    assert_ptr_equal(b.data(), data);
    assert_null(a.data());
    a = std::move(b);
    assert_ptr_equal(a.data(), data);
    assert_int_equal(a.size(), 100);
    assert_int_equal(b.size(), 0);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(plan_executes_and_describes),
        cmocka_unit_test(failures_are_exceptions),
        cmocka_unit_test(owners_move),
    };
    return cmocka_run_group_tests_name("binding", tests, nullptr, nullptr);
}
