// SPDX-License-Identifier: MIT
#include "tensor_map.hpp"

#include "driver.hpp"

#include <cstring>

namespace ct3d::cuda {

namespace {

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));

CUtensorMapSwizzle swizzle_of(int32_t row_bytes) {
    switch (row_bytes) {
    case 128:
        return CU_TENSOR_MAP_SWIZZLE_128B;
    case 64:
        return CU_TENSOR_MAP_SWIZZLE_64B;
    default:
        return CU_TENSOR_MAP_SWIZZLE_32B;
    }
}

} // namespace

void require_tensor_maps() { driver::cuTensorMapEncodeTiled.require(); }

TensorMap make_tensor_map(const Device &device, const TensorMapShape &shape, const void *first) {
    constexpr cuuint32_t all[5] = {1, 1, 1, 1, 1};
    const CUtensorMapDataType type =
        shape.element_bytes == 4 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_UINT16;
    const Current current(device);
    CUtensorMap map;
    driver::cuTensorMapEncodeTiled(&map, type, 5, const_cast<void *>(first), shape.extents, shape.strides, shape.box,
                                   all, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(shape.row_bytes),
                                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    TensorMap result;
    std::memcpy(&result, &map, sizeof result);
    return result;
}

} // namespace ct3d::cuda
