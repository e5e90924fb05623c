// SPDX-License-Identifier: MIT
#include "gpu.hpp"

#include "cuda_driver.hpp"
#include "hip_driver.hpp"

namespace ct3d::engine {

std::unique_ptr<const Gpu> open_gpu(Place place) {
    if (place.backend == CT3D_BACKEND_HIP)
        return std::make_unique<HipDevice>(place.device);
    return std::make_unique<CudaDevice>(place.device);
}

} // namespace ct3d::engine
