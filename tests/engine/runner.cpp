// SPDX-License-Identifier: MIT
#include "runner.hpp"

#include "device_check.hpp"
#include "dtype.hpp"
#include "judgement.hpp"
#include "tensors.hpp"

#include <algorithm>
#include <cstdio>

namespace ct3d::engine {
namespace {

Result skipped(Result result, std::string reason) {
    result.status = Status::skipped;
    result.reason = std::move(reason);
    return result;
}

Result failed(Result result, std::string reason) {
    result.status = Status::failed;
    result.reason = std::move(reason);
    return result;
}

std::string message(ct3d_status status) { return std::string(ct3d_status_string(status)) + ": " + ct3d_last_error(); }

std::string gigabytes(double bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g GB", bytes / 1e9);
    return text;
}

// Counting the products of a problem takes as long as its kernel is large, so tensors that cannot fit are told first.
double bytes_needed(const Case &c, Place place, uint64_t workspace, double limit) {
    const double tensors = tensor_bytes(c.problem) + static_cast<double>(workspace);
    if (tensors > limit)
        return tensors;
    return tensors + reference_bytes(c.problem) + (checked_on_device(c, place) ? device_reference_bytes(c) : 0);
}

// Kernels that call oneDNN round as it does; the others must be as good as a plain loop of fused multiply-adds.
bool has_quality(const Case &c, const std::string &kernel) {
    return c.fill == Fill::symmetric && c.problem.dtype == CT3D_F32 && c.problem.math == CT3D_MATH_FP32 &&
           kernel.rfind("onednn", 0) != 0;
}

bool same_shape(const ct3d_problem &p) {
    int64_t library[5];
    const Index own = shape(p, Role::y);
    return ct3d_output_shape(&p, library) == CT3D_SUCCESS && std::equal(own.begin(), own.end(), library);
}

// Judges the op's main output by what it ought to be.
void judge_output(Judgement &judgement, const ct3d_problem &p, const ExactOutput &exact, const void *output) {
    const Role role = output_role(p);
    const Index extent = shape(p, role), stride = strides(p, role);
    const auto count = static_cast<int64_t>(exact.values.size());
    constexpr int64_t chunk = 4096;
    parallel_for((count + chunk - 1) / chunk, static_cast<double>(count), [&](int64_t item, int worker) {
        for (int64_t i = item * chunk; i < std::min(count, (item + 1) * chunk); ++i) {
            const Index index = exact.samples.empty() ? index_of(extent, i) : exact.samples[static_cast<size_t>(i)];
            int64_t offset = 0;
            for (size_t d = 0; d < index.size(); ++d)
                offset += index[d] * stride[d];
            judgement.add(worker, index, exact.values[static_cast<size_t>(i)].exact(), load(p.dtype, output, offset));
        }
    });
}

void judge_bias_gradient(Judgement &judgement, const ct3d_problem &p, const ExactOutput &exact, const void *dbias) {
    for (int64_t channel = 0; channel < p.out_channels; ++channel)
        judgement.add(0, {channel, 0, 0, 0, 0}, exact.bias_gradient[static_cast<size_t>(channel)].exact(),
                      load(p.dtype, dbias, channel));
}

const char *output_name(const ct3d_problem &p) {
    return p.op == CT3D_FORWARD ? "y" : p.op == CT3D_BACKWARD_DATA ? "dx" : "dw";
}

void judge_tensors(Result &result, const Case &c, Rules rules, const Tensors &tensors, const ExactOutput &exact) {
    const ct3d_problem &p = c.problem;
    Judgement output(output_name(p), rules);
    result.sampled = !exact.samples.empty();
    judge_output(output, p, exact, tensors.output());
    output.report(result);
    if (const void *dbias = tensors.bias_gradient()) {
        rules.summed = true;
        Judgement gradient("dbias", rules);
        judge_bias_gradient(gradient, p, exact, dbias);
        gradient.report(result);
    }
}

Result execute(Result result, const Case &c, const RunOptions &options, const ct3d_plan *plan, uint64_t workspace) {
    const Place place = options.plan.place;
    const bool on_device = checked_on_device(c, place);
    References own;
    References &references = options.references != nullptr ? *options.references : own;
    references.forget_others(c, options.seed);
    const auto filled = on_device ? Tensors::Filled::on_device : Tensors::Filled::on_host;
    Tensors tensors(c, place, options.seed, workspace, filled);
    const ct3d_buffers buffers = tensors.buffers();
    const ct3d_status status = options.execute(plan, &buffers);
    if (status != CT3D_SUCCESS)
        return failed(std::move(result), "ct3d_execute: " + message(status));
    require(ct3d_synchronize(place.backend, place.device), "ct3d_synchronize");
    if (const std::string buffer = tensors.broken(); !buffer.empty())
        return failed(std::move(result), "wrote outside " + buffer);
    const Rules rules{c.problem.dtype, c.problem.math, c.fill, has_quality(c, result.kernel), false, tensors.largest()};
    if (on_device) {
        check_on_device(result, c, rules, place, tensors, options.seed, references);
        return result;
    }
    tensors.download();
    judge_tensors(result, c, rules, tensors, references.output(c, options.seed, tensors.inputs()));
    return result;
}

// What `body` throws becomes the result's status.
template <class Body> Result caught(const Result &result, Body &&body) {
    try {
        return body();
    } catch (const StatusError &error) {
        return error.status == CT3D_OUT_OF_MEMORY ? skipped(result, error.what()) : failed(result, error.what());
    } catch (const std::bad_alloc &) {
        return skipped(result, "out of host memory");
    } catch (const std::runtime_error &error) {
        return failed(result, error.what());
    }
}

Result run_planned(Result result, const Case &c, const RunOptions &options, const ct3d_plan *plan) {
    const uint64_t workspace = workspace_size(plan);
    const double needed = bytes_needed(c, options.plan.place, workspace, options.max_memory);
    if (needed > options.max_memory)
        return skipped(result, "needs " + gigabytes(needed) + ", the limit is " + gigabytes(options.max_memory));
    return caught(result, [&] { return execute(result, c, options, plan, workspace); });
}

} // namespace

Result run(const Case &c, const RunOptions &options) {
    Result result;
    if (const char *refusal = fill_refusal(c))
        return skipped(result, refusal);
    if (!same_shape(c.problem))
        return failed(result, "ct3d_output_shape differs from the definition");
    ct3d_status status;
    const Plan plan = make_plan(c.problem, options.plan, status);
    if (status == CT3D_UNSUPPORTED || status == CT3D_OUT_OF_MEMORY)
        return skipped(result, message(status));
    if (status != CT3D_SUCCESS)
        return failed(result, "ct3d_create_plan: " + message(status));
    result.kernel = kernel_name(plan.get());
    return run_planned(std::move(result), c, options, plan.get());
}

const char *name(Status status) {
    return status == Status::passed ? "passed" : status == Status::failed ? "failed" : "skipped";
}

std::string describe(const Element &e) {
    char text[256];
    const auto [i0, i1, i2, i3, i4] = e.index;
    std::snprintf(text, sizeof text, "%s[%lld,%lld,%lld,%lld,%lld] expected %.17g got %.17g bound %.3g (%lld products)",
                  e.tensor, static_cast<long long>(i0), static_cast<long long>(i1), static_cast<long long>(i2),
                  static_cast<long long>(i3), static_cast<long long>(i4), e.expected, e.got, e.bound,
                  static_cast<long long>(e.products));
    return text;
}

} // namespace ct3d::engine
