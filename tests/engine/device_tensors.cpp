// SPDX-License-Identifier: MIT
#include "device_tensors.hpp"

#include "device_memory.hpp"
#include "device_params.hpp"

#include <algorithm>

namespace ct3d::engine {

void fill_on_device(const CudaDevice &gpu, const Case &c, uint64_t seed, Operand operand, Role role, Storage storage,
                    void *tensor) {
    const Index extent = shape(c.problem, role), number = numbering(extent);
    const Order order = memory_order(c.problem, role);
    FillParams params{};
    params.fill = make_fill(c, seed, operand, role);
    params.value_dtype = c.problem.dtype;
    params.stored_dtype = storage.dtype;
    params.absolute = storage.absolute;
    for (size_t d = 0; d < order.size(); ++d) {
        params.extent[d] = extent[order[d]];
        params.number[d] = number[order[d]];
    }
    params.data = tensor;
    gpu.launch("ct3d_engine_fill", blocks_for(elements(extent)), device_threads, params);
}

std::vector<double> gather(const CudaDevice &gpu, Place place, int32_t dtype, const void *tensor,
                           const std::vector<int64_t> &offsets) {
    std::vector<double> values(offsets.size());
    const uint64_t bytes = values.size() * sizeof(double);
    const DeviceMemory from(place, bytes), to(place, bytes);
    require(ct3d_copy(place.backend, place.device, from.address(), offsets.data(), bytes), "ct3d_copy");
    const auto count = static_cast<int64_t>(offsets.size());
    gpu.launch("ct3d_engine_gather", blocks_for(count), device_threads,
               GatherParams{tensor, dtype, from.as<int64_t>(), to.as<double>(), count});
    require(ct3d_copy(place.backend, place.device, values.data(), to.address(), bytes), "ct3d_copy");
    return values;
}

uint32_t blocks_for(int64_t elements) {
    constexpr int64_t most = 4096;
    return static_cast<uint32_t>(std::clamp<int64_t>((elements + device_threads - 1) / device_threads, 1, most));
}

} // namespace ct3d::engine
