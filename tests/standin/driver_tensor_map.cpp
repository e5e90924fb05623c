// SPDX-License-Identifier: MIT
// The CUDA driver's function that describes a tensor for copies of boxes, with the limits that its documentation
// states.
#include "driver_state.hpp"
#include "tensor_map.hpp"

#include <cstdio>
#include <cstring>

using standin::tensor_axes;

namespace {

// 0: not known here.
uint32_t element_bytes(CUtensorMapDataType type) {
    switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
        return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
        return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
        return 4;
    default:
        return 0;
    }
}

uint16_t swizzle_bytes(CUtensorMapSwizzle swizzle) {
    switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE:
        return 16;
    case CU_TENSOR_MAP_SWIZZLE_32B:
        return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B:
        return 64;
    case CU_TENSOR_MAP_SWIZZLE_128B:
        return 128;
    default:
        return 0;
    }
}

bool axes_fit(const standin::TensorMap &map, const cuuint32_t *box, const cuuint32_t *element_strides) {
    constexpr uint64_t most_cells = uint64_t{1} << 32, stride_end = uint64_t{1} << 40;
    constexpr uint32_t most_box = 256;
    for (uint32_t axis = 0; axis < tensor_axes; ++axis) {
        if (map.size[axis] == 0 || map.size[axis] > most_cells || box[axis] == 0 || box[axis] > most_box ||
            element_strides[axis] != 1)
            return false;
        if (axis > 0 && (map.stride[axis] % 16 != 0 || map.stride[axis] >= stride_end))
            return false;
    }
    const uint64_t row_bytes = box[0] * map.stride[0];
    return row_bytes % 16 == 0 && (map.swizzle == 16 || row_bytes <= map.swizzle);
}

} // namespace

extern "C" CUresult cuTensorMapEncodeTiled(CUtensorMap *to, CUtensorMapDataType type, cuuint32_t rank, void *first,
                                           const cuuint64_t *size, const cuuint64_t *strides, const cuuint32_t *box,
                                           const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                           CUtensorMapFloatOOBfill fill) {
    STANDIN_CALL(context);
    standin::TensorMap map{standin::tensor_map_mark, static_cast<const uint8_t *>(first), {}, {}, {},
                           swizzle_bytes(swizzle)};
    map.stride[0] = element_bytes(type);
    if (rank != tensor_axes || map.stride[0] == 0 || map.swizzle == 0 || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
        fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) {
        std::fprintf(stderr, "standin: a tensor map of that kind is not known\n");
        return CUDA_ERROR_INVALID_VALUE;
    }
    std::memcpy(map.size, size, sizeof map.size);
    std::memcpy(map.stride + 1, strides, sizeof map.stride - sizeof map.stride[0]);
    if (reinterpret_cast<uintptr_t>(to) % 64 != 0 || reinterpret_cast<uintptr_t>(first) % 16 != 0 || !first ||
        !axes_fit(map, box, element_strides))
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t axis = 0; axis < tensor_axes; ++axis)
        map.box[axis] = static_cast<uint16_t>(box[axis]);
    static_assert(sizeof *to == standin::tensor_map_bytes);
    std::memset(to, 0, sizeof *to);
    std::memcpy(to, &map, sizeof map);
    return CUDA_SUCCESS;
}
