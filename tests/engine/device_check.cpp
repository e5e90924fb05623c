// SPDX-License-Identifier: MIT
#include "device_check.hpp"

#include "device_tensors.hpp"
#include "dtype.hpp"

#include <cmath>

namespace ct3d::engine {
namespace {

// The same problem for the reference: in f64, its tensors in the order of their elements' numbers.
Case in_f64(Case c) {
    c.problem.dtype = CT3D_F64;
    c.problem.layout = CT3D_NCDHW;
    c.problem.weights_layout = CT3D_IODHW;
    return c;
}

DeviceMemory tensor_in_f64(const Case &c, Place place, Role role) {
    return {place, static_cast<uint64_t>(elements(c.problem, role)) * sizeof(double)};
}

struct Operands {
    DeviceMemory x, w, bias, workspace;
};

void run_portable(const CudaDevice &gpu, const Case &c, Place place, uint64_t seed, const ct3d_plan *plan,
                  const Operands &operands, bool absolute, void *y) {
    Case canonical = in_f64(c);
    canonical.problem.dtype = c.problem.dtype; // whose values they are
    const Storage storage{CT3D_F64, absolute};
    fill_on_device(gpu, canonical, seed, Operand::first, Role::x, storage, operands.x.address());
    fill_on_device(gpu, canonical, seed, Operand::second, Role::w, storage, operands.w.address());
    fill_on_device(gpu, canonical, seed, Operand::bias, Role::bias, storage, operands.bias.address());
    ct3d_buffers b;
    ct3d_buffers_init(&b, sizeof b);
    b.x = operands.x.address();
    b.w = operands.w.address();
    b.bias = c.problem.has_bias ? operands.bias.address() : nullptr;
    b.y = y;
    b.workspace = operands.workspace.address();
    b.workspace_size = operands.workspace.bytes();
    require(ct3d_execute(plan, &b), "ct3d_execute");
    require(ct3d_synchronize(place.backend, place.device), "ct3d_synchronize");
}

bool near(double got, const Exact &exact, const Rules &rules) {
    const auto value = static_cast<double>(exact.value), magnitude = static_cast<double>(exact.magnitude);
    return std::abs(static_cast<double>(static_cast<long double>(got) - exact.value)) <=
           bound(rules, value, magnitude, exact.products);
}

// What the samples say of the reference; empty if nothing against it.
std::string fault_of(const CudaDevice &gpu, const Case &c, Place place, const ExactOutput &exact,
                     const DeviceReference &reference) {
    const Index number = numbering(shape(c.problem, Role::y));
    std::vector<int64_t> offsets;
    for (const Index &index : exact.samples) {
        offsets.push_back(0);
        for (size_t d = 0; d < index.size(); ++d)
            offsets.back() += index[d] * number[d];
    }
    const auto values = gather(gpu, place, CT3D_F64, reference.expected.address(), offsets);
    const auto magnitudes = gather(gpu, place, CT3D_F64, reference.magnitude.address(), offsets);
    const Rules rules{CT3D_F64, CT3D_MATH_FP32, c.fill, false, false, largest_value(c.fill)};
    for (size_t i = 0; i < offsets.size(); ++i) {
        const Exact value = exact.values[i].exact();
        const Exact magnitude{value.magnitude, value.magnitude, value.products};
        if (!near(values[i], value, rules) || !near(magnitudes[i], magnitude, rules))
            return "the f64 reference on the device is wrong at element " + std::to_string(offsets[i]);
    }
    return "";
}

std::shared_ptr<DeviceReference> make_reference(const CudaDevice &gpu, const Case &c, Place place, uint64_t seed,
                                                const ExactOutput &exact) {
    const Case f64 = in_f64(c);
    ct3d_status status;
    const Plan plan = make_plan(f64.problem, {place, "portable", 0}, status);
    require(status, "ct3d_create_plan of the f64 reference");
    auto reference = std::make_shared<DeviceReference>();
    reference->expected = tensor_in_f64(c, place, Role::y);
    reference->magnitude = tensor_in_f64(c, place, Role::y);
    const Operands operands{tensor_in_f64(c, place, Role::x),
                            tensor_in_f64(c, place, Role::w),
                            tensor_in_f64(c, place, Role::bias),
                            {place, workspace_size(plan.get())}};
    run_portable(gpu, c, place, seed, plan.get(), operands, false, reference->expected.address());
    run_portable(gpu, c, place, seed, plan.get(), operands, true, reference->magnitude.address());
    reference->fault = fault_of(gpu, c, place, exact, *reference);
    return reference;
}

// For each output coordinate of an axis, the pairs of an input and a tap that add to it.
std::vector<int64_t> axis_pairs(const ct3d_problem &p, int axis) {
    std::vector<int64_t> pairs(static_cast<size_t>(output_extent(p, axis)), 0);
    for (int64_t i = 0; i < p.in[axis]; ++i)
        for (int64_t k = 0; k < p.kernel[axis]; ++k) {
            const int64_t o = i * p.stride[axis] - p.pad_begin[axis] + k * p.dilation[axis];
            if (o >= 0 && o < output_extent(p, axis))
                ++pairs[static_cast<size_t>(o)];
        }
    return pairs;
}

template <class T> DeviceMemory on_device(Place place, const std::vector<T> &values) {
    DeviceMemory memory(place, values.size() * sizeof(T));
    require(ct3d_copy(place.backend, place.device, memory.address(), values.data(), memory.bytes()), "ct3d_copy");
    return memory;
}

void judge_samples(Judgement &judgement, const CudaDevice &gpu, const Case &c, Place place, const void *y,
                   const ExactOutput &exact) {
    const Index stride = strides(c.problem, Role::y);
    std::vector<int64_t> offsets;
    for (const Index &index : exact.samples) {
        offsets.push_back(0);
        for (size_t d = 0; d < index.size(); ++d)
            offsets.back() += index[d] * stride[d];
    }
    const std::vector<double> got = gather(gpu, place, c.problem.dtype, y, offsets);
    for (size_t i = 0; i < got.size(); ++i)
        judgement.add(0, exact.samples[i], exact.values[i].exact(), got[i]);
}

void judge_all(Judgement &judgement, const CudaDevice &gpu, const Case &c, const Rules &rules, Place place,
               const void *y, const DeviceReference &reference) {
    const ct3d_problem &p = c.problem;
    const Index extent = shape(p, Role::y), stride = strides(p, Role::y);
    const uint32_t blocks = blocks_for(elements(extent));
    JudgeParams params{};
    params.rules = rules;
    std::copy(extent.begin(), extent.end(), params.shape);
    std::copy(stride.begin(), stride.end(), params.stride);
    params.got = y;
    params.expected = reference.expected.as<double>();
    params.magnitude = reference.magnitude.as<double>();
    std::vector<DeviceMemory> pairs;
    for (int axis = 0; axis < 3; ++axis)
        params.axis_products[axis] = pairs.emplace_back(on_device(place, axis_pairs(p, axis))).as<int64_t>();
    params.channels = p.in_channels / p.groups;
    std::vector<Verdicts> verdicts(blocks);
    const DeviceMemory memory(place, blocks * sizeof(Verdicts));
    params.verdicts = memory.as<Verdicts>();
    gpu.launch("ct3d_engine_judge", blocks, device_threads, params);
    require(ct3d_copy(place.backend, place.device, verdicts.data(), memory.address(), memory.bytes()), "ct3d_copy");
    for (const Verdicts &each : verdicts)
        if (each.checked > 0)
            judgement.add(each, index_of(extent, each.worst));
}

} // namespace

bool checked_on_device(const Case &c, Place place) {
    return place.backend == CT3D_BACKEND_CUDA && CudaDevice::has_device_code() && c.problem.op == CT3D_FORWARD &&
           is_sampled(c.problem);
}

double device_reference_bytes(const Case &c) {
    const ct3d_problem &p = c.problem;
    const auto count = [&](Role role) { return static_cast<double>(elements(p, role)); };
    return sizeof(double) * (count(Role::x) + count(Role::w) + 2 * count(Role::y));
}

void check_on_device(Result &result, const Case &c, const Rules &rules, Place place, const Tensors &tensors,
                     uint64_t seed, References &references) {
    const CudaDevice gpu(place.device);
    const ExactOutput &exact = references.output(c, seed);
    if (references.device == nullptr)
        references.device = make_reference(gpu, c, place, seed, exact);
    const void *const y = tensors.buffers().y;
    Judgement samples("y", rules), all("y", rules);
    judge_samples(samples, gpu, c, place, y, exact);
    samples.report(result);
    if (result.status == Status::failed)
        return;
    if (const std::string &fault = references.device->fault; !fault.empty()) {
        result.status = Status::failed;
        result.reason = fault;
        return;
    }
    result.checked = 0; // the samples are checked again among all
    judge_all(all, gpu, c, rules, place, y, *references.device);
    all.report(result);
}

} // namespace ct3d::engine
