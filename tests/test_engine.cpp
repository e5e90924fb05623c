// SPDX-License-Identifier: MIT
// The case engine itself: kernels that are broken on purpose, each in one way, must not pass.
#include "geometry.hpp"
#include "runner.hpp"
#include "support.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace {

using ct3d::engine::Case;
using ct3d::engine::Execute;
using ct3d::engine::Fill;
using ct3d::engine::Result;
using ct3d::engine::Role;
using ct3d::engine::Status;

const char plain[] = "plain 2 5 7 4,5,6 3 2 1 0 1 1";
const char dilated[] = "dilated 1 4 6 5,5,5 3 2 1 0 2 1"; // 7 of 8 outputs are only bias

Result run_broken(const std::string &line, Execute execute) {
    ct3d::engine::RunOptions options;
    options.execute = std::move(execute);
    return ct3d::engine::run(ct3d::engine::parse_line(line), options);
}

void expect_failure(const std::string &line, Execute execute, const char *why = "") {
    const Result result = run_broken(line, std::move(execute));
    if (result.status != Status::failed)
        fail_msg("\"%s\" %s: %s", line.c_str(), ct3d::engine::name(result.status), result.reason.c_str());
    if (result.reason.find(why) == std::string::npos)
        fail_msg("\"%s\" is not in the reason \"%s\"", why, result.reason.c_str());
}

// Runs the kernel and then changes what it wrote.
template <class Damage> Execute damaged(Damage damage) {
    return [damage](const ct3d_plan *plan, const ct3d_buffers *b) {
        const ct3d_status status = ct3d_execute(plan, b);
        damage(*b);
        return status;
    };
}

float *floats(const void *tensor) { return static_cast<float *>(const_cast<void *>(tensor)); }

int64_t count(const std::string &line, Role role) {
    return ct3d::engine::elements(ct3d::engine::parse_line(line).problem, role);
}

const std::string ops[] = {" op=forward", " op=backward_data", " op=backward_weights"};

// The tensor that the op of ops[i] writes, and its role.
float *output(size_t op, const ct3d_buffers &b) { return floats(op == 0 ? b.y : op == 1 ? b.dx : b.dw); }
Role output_role(size_t op) { return op == 0 ? Role::y : op == 1 ? Role::x : Role::w; }

void sound_kernels_pass(void **) {
    for (const char *line : {plain, dilated})
        for (const std::string &op : ops)
            for (const char *fill : {"symmetric", "exact", "positive", "constant", "identity", "onehot"}) {
                const std::string whole = line + op + " fill=" + fill;
                const Result result = run_broken(whole, ct3d_execute);
                const bool skipped = op == ops[2] && std::string(fill) == "identity";
                if (result.status != (skipped ? Status::skipped : Status::passed))
                    fail_msg("\"%s\" %s: %s", whole.c_str(), ct3d::engine::name(result.status), result.reason.c_str());
            }
}

void wrong_element_is_caught(void **) {
    for (size_t op = 0; op < 3; ++op) {
        const std::string line = plain + ops[op];
        const int64_t last = count(line, output_role(op)) - 1;
        for (const int64_t at : {int64_t{0}, last / 2, last}) {
            expect_failure(line, damaged([=](const ct3d_buffers &b) { output(op, b)[at] += 1e-2f; }));
            expect_failure(line + " fill=exact", damaged([=](const ct3d_buffers &b) { output(op, b)[at] += 1; }));
        }
    }
    expect_failure(plain + ops[2], damaged([](const ct3d_buffers &b) { floats(b.dbias)[3] += 1; }), "dbias");
}

void wrong_bias_only_element_is_caught(void **) {
    expect_failure(dilated, damaged([](const ct3d_buffers &b) { // in the last place
                       uint32_t bits;
                       std::memcpy(&bits, b.y, sizeof bits);
                       ++bits;
                       std::memcpy(b.y, &bits, sizeof bits);
                   }));
}

void nan_and_infinity_are_caught(void **) {
    for (const float value : {HUGE_VALF, -HUGE_VALF, std::nanf("")})
        for (const char *fill : {" fill=symmetric", " fill=exact", " fill=constant"})
            expect_failure(std::string(plain) + fill, damaged([=](const ct3d_buffers &b) { floats(b.y)[7] = value; }));
}

void unwritten_element_is_caught(void **) {
    for (size_t op = 0; op < 3; ++op)
        for (const char *fill : {" fill=symmetric", " fill=exact", " fill=onehot"}) {
            const std::string line = plain + ops[op] + fill;
            const int64_t at = count(line, output_role(op)) - 1;
            expect_failure(line, [=](const ct3d_plan *plan, const ct3d_buffers *b) {
                const float before = output(op, *b)[at];
                const ct3d_status status = ct3d_execute(plan, b);
                output(op, *b)[at] = before;
                return status;
            });
        }
}

void write_outside_is_caught(void **) {
    for (size_t op = 0; op < 3; ++op) {
        const std::string line = plain + ops[op];
        const int64_t end = count(line, output_role(op));
        for (const int64_t at : {int64_t{-1}, end, end + 100})
            expect_failure(line, damaged([=](const ct3d_buffers &b) { output(op, b)[at] = 1; }), "outside");
    }
    expect_failure(plain, damaged([](const ct3d_buffers &b) { floats(b.w)[count(plain, Role::w)] = 0; }), "outside");
    expect_failure(plain, damaged([](const ct3d_buffers &b) {
                       auto *workspace = static_cast<uint8_t *>(b.workspace);
                       if (workspace)
                           workspace[b.workspace_size] ^= 1;
                       else
                           floats(b.y)[-1] = 0; // the kernel has none
                   }),
                   "outside");
}

// Even where what was read is multiplied by 0, as in the padding of a tile.
void read_past_the_end_is_caught(void **) {
    const int64_t x_end = count(plain, Role::x), w_end = count(plain, Role::w);
    for (const char *fill : {" fill=symmetric", " fill=exact", " fill=constant", " fill=identity", " fill=onehot"}) {
        const std::string line = std::string(plain) + fill;
        expect_failure(line, damaged([=](const ct3d_buffers &b) { floats(b.y)[4] += 0 * floats(b.x)[x_end]; }));
        expect_failure(line, damaged([=](const ct3d_buffers &b) { floats(b.y)[4] += 0 * floats(b.x)[-1]; }));
        expect_failure(line, damaged([=](const ct3d_buffers &b) { floats(b.y)[4] += 0 * floats(b.w)[w_end]; }));
    }
}

void workspace_read_before_written_is_caught(void **) {
    expect_failure(std::string(plain) + " dtype=bf16 layout=ndhwc", [](const ct3d_plan *plan, const ct3d_buffers *b) {
        float stale = 0;
        if (b->workspace_size >= sizeof stale)
            std::memcpy(&stale, b->workspace, sizeof stale);
        else
            stale = std::nanf("");
        const ct3d_status status = ct3d_execute(plan, b);
        if (std::isnan(stale))
            *static_cast<uint16_t *>(b->y) = 0x7fff;
        return status;
    });
}

// One tap of one weight, as where a loop ends one early.
void lost_tap_is_caught(void **) {
    const int64_t weights = count(plain, Role::w);
    for (const char *fill : {" fill=symmetric", " fill=positive", " fill=constant"})
        for (const int64_t tap : {int64_t{0}, weights / 2, weights - 1})
            expect_failure(std::string(plain) + fill, [=](const ct3d_plan *plan, const ct3d_buffers *b) {
                std::vector<float> w(floats(b->w), floats(b->w) + weights);
                w[static_cast<size_t>(tap)] = 0;
                ct3d_buffers lossy = *b;
                lossy.w = w.data();
                return ct3d_execute(plan, &lossy);
            });
}

// Less accurate than promised: operands with 11 bits where all 24 are asked for.
void reduced_precision_is_caught(void **) {
    const auto rounded = [](const ct3d_plan *plan, const ct3d_buffers *b) {
        const auto elements = static_cast<size_t>(count(plain, Role::x));
        std::vector<float> x(floats(b->x), floats(b->x) + elements);
        for (float &value : x) {
            uint32_t bits;
            std::memcpy(&bits, &value, sizeof bits);
            bits = (bits + 0x1000u) & ~0x1fffu;
            std::memcpy(&value, &bits, sizeof bits);
        }
        ct3d_buffers coarse = *b;
        coarse.x = x.data();
        return ct3d_execute(plan, &coarse);
    };
    expect_failure(plain, rounded);
    assert_int_equal(run_broken(std::string(plain) + " math=tf32", rounded).status, Status::passed);
}

void failing_execute_is_a_failure(void **) {
    expect_failure(
        plain, [](const ct3d_plan *, const ct3d_buffers *) { return ct3d_status{CT3D_INTERNAL}; }, "CT3D_INTERNAL");
    expect_failure(plain, [](const ct3d_plan *, const ct3d_buffers *) { return ct3d_status{CT3D_SUCCESS}; });
}

// Only samples are checked here, but corners always are.
void wrong_corner_of_a_large_case_is_caught(void **) {
    const std::string line = "large 1 64 64 32 3 1 1 0 1 1 fill=exact";
    const int64_t end = count(line, Role::y);
    for (const int64_t at : {int64_t{0}, int64_t{31}, end - 32 * 32 * 32, end - 1})
        expect_failure(line, damaged([=](const ct3d_buffers &b) { floats(b.y)[at] += 1; }));
}

void cases_over_the_memory_limit_are_skipped(void **) {
    ct3d::engine::RunOptions options;
    options.max_memory = 1e6;
    const Result result = ct3d::engine::run(ct3d::engine::parse_line("big 1 64 64 32 3 1 1 0 1 1"), options);
    assert_int_equal(result.status, Status::skipped);
    assert_true(result.reason.find("GB") != std::string::npos);
}

void lines_survive_a_round_trip(void **) {
    for (const char *line : {plain, dilated, "a 1 4 6 5,6,7 1,2,3 3,2,1 1,0,1 2,1,0 1 2 pad_end=0,1,0 dtype=bf16",
                             "b 2 3 3 4 3 1 1 0 1 3 dtype=f64 layout=ndhwc wlayout=idhwo op=backward_data offset=4",
                             "c 0 3 3 4 3 1 1 0 1 3 math=tf32 bias=0 fill=onehot op=backward_weights"}) {
        const Case first = ct3d::engine::parse_line(line), second = ct3d::engine::parse_line(to_line(first));
        assert_memory_equal(&first.problem, &second.problem, sizeof first.problem);
        assert_true(first.fill == second.fill && first.offset == second.offset && first.name == second.name);
    }
}

void malformed_lines_name_the_field(void **) {
    static const char *const lines[][2] = {
        {"short 1 2", "out_channels"},
        {"word 1 x 2 4 3 1 1 0 1 1", "in_channels"},
        {"two-sizes 1 2 2 4,4 3 1 1 0 1 1", "in:"},
        {"key 1 2 2 4 3 1 1 0 1 1 colour=red", "colour"},
        {"value 1 2 2 4 3 1 1 0 1 1 dtype=f8", "dtype"},
        {"range 1 2 2 4 3 99999999999999999999 1 0 1 1", "stride"},
    };
    for (const auto &[line, field] : lines) {
        std::string message;
        try {
            ct3d::engine::parse_line(line);
        } catch (const ct3d::engine::UsageError &error) {
            message = error.what();
        }
        if (message.find("CT3D_INVALID_ARGUMENT") == std::string::npos || message.find(field) == std::string::npos)
            fail_msg("\"%s\" gives the message \"%s\"", line, message.c_str());
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(sound_kernels_pass),
        cmocka_unit_test(wrong_element_is_caught),
        cmocka_unit_test(wrong_bias_only_element_is_caught),
        cmocka_unit_test(nan_and_infinity_are_caught),
        cmocka_unit_test(unwritten_element_is_caught),
        cmocka_unit_test(write_outside_is_caught),
        cmocka_unit_test(read_past_the_end_is_caught),
        cmocka_unit_test(workspace_read_before_written_is_caught),
        cmocka_unit_test(lost_tap_is_caught),
        cmocka_unit_test(reduced_precision_is_caught),
        cmocka_unit_test(failing_execute_is_a_failure),
        cmocka_unit_test(wrong_corner_of_a_large_case_is_caught),
        cmocka_unit_test(cases_over_the_memory_limit_are_skipped),
        cmocka_unit_test(lines_survive_a_round_trip),
        cmocka_unit_test(malformed_lines_name_the_field),
    };
    return cmocka_run_group_tests_name("engine", tests, nullptr, nullptr);
}
