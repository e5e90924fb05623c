// SPDX-License-Identifier: MIT
#include "runner.hpp"

#include "dtype.hpp"
#include "judgement.hpp"
#include "samples.hpp"
#include "tensors.hpp"

#include <cmath>
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

bool check_all(const ct3d_problem &p) { return products(p) <= all_elements_products; }

// Counting the products of a problem takes as long as its kernel is large, so tensors that cannot fit are told first.
double bytes_needed(const ct3d_problem &p, uint64_t workspace, double limit) {
    const double tensors = tensor_bytes(p) + static_cast<double>(workspace);
    return tensors > limit ? tensors : tensors + reference_bytes(p, check_all(p));
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

// Judges the op's main output; false if only some of its elements.
bool judge_output(Judgement &judgement, const ct3d_problem &p, const Reference &reference, const void *output,
                  uint64_t seed) {
    const Role role = output_role(p);
    const Index stride = strides(p, role);
    const auto judge_at = [&](const Index &index, int worker) {
        int64_t offset = 0;
        for (size_t d = 0; d < index.size(); ++d)
            offset += index[d] * stride[d];
        judgement.add(worker, index, reference.at(index), load(p.dtype, output, offset));
    };
    const double work = products(p) + static_cast<double>(elements(p, role));
    if (check_all(p) || elements(p, role) <= sampled_elements) {
        for_each_element(shape(p, role), work, judge_at);
        return true;
    }
    const std::vector<Index> indices = sample(p, role, sampled_elements, seed);
    parallel_for(static_cast<int64_t>(indices.size()), work,
                 [&](int64_t i, int worker) { judge_at(indices[static_cast<size_t>(i)], worker); });
    return false;
}

void judge_bias_gradient(Judgement &judgement, const ct3d_problem &p, const Reference &reference, const void *dbias) {
    const auto summands = static_cast<double>(elements(p, Role::y));
    parallel_for(p.out_channels, summands, [&](int64_t channel, int worker) {
        judgement.add(worker, {channel, 0, 0, 0, 0}, reference.bias_gradient(channel), load(p.dtype, dbias, channel));
    });
}

const char *output_name(const ct3d_problem &p) {
    return p.op == CT3D_FORWARD ? "y" : p.op == CT3D_BACKWARD_DATA ? "dx" : "dw";
}

void judge_tensors(Result &result, const Case &c, const Tensors &tensors, uint64_t seed) {
    const ct3d_problem &p = c.problem;
    const Reference reference(p, tensors.inputs(), check_all(p));
    Rules rules{p.dtype, p.math, c.fill, has_quality(c, result.kernel), false, tensors.largest()};
    Judgement output(output_name(p), rules);
    result.sampled = !judge_output(output, p, reference, tensors.output(), seed);
    output.report(result);
    if (const void *dbias = tensors.bias_gradient()) {
        rules.summed = true;
        Judgement gradient("dbias", rules);
        judge_bias_gradient(gradient, p, reference, dbias);
        gradient.report(result);
    }
}

Result execute(Result result, const Case &c, const RunOptions &options, const ct3d_plan *plan, uint64_t workspace) {
    Tensors tensors(c, options.plan.place, options.seed, workspace);
    const ct3d_buffers buffers = tensors.buffers();
    const ct3d_status status = options.execute(plan, &buffers);
    if (status != CT3D_SUCCESS)
        return failed(std::move(result), "ct3d_execute: " + message(status));
    require(ct3d_synchronize(options.plan.place.backend, options.plan.place.device), "ct3d_synchronize");
    tensors.download();
    if (const std::string buffer = tensors.broken(); !buffer.empty())
        return failed(std::move(result), "wrote outside " + buffer);
    judge_tensors(result, c, tensors, options.seed);
    return result;
}

} // namespace

Result run(const Case &c, const RunOptions &options) try {
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
    const uint64_t workspace = workspace_size(plan.get());
    const double needed = bytes_needed(c.problem, workspace, options.max_memory);
    if (needed > options.max_memory)
        return skipped(result, "needs " + gigabytes(needed) + ", the limit is " + gigabytes(options.max_memory));
    return execute(std::move(result), c, options, plan.get(), workspace);
} catch (const StatusError &error) {
    return error.status == CT3D_OUT_OF_MEMORY ? skipped({}, error.what()) : failed({}, error.what());
} catch (const std::bad_alloc &) {
    return skipped({}, "out of host memory");
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
