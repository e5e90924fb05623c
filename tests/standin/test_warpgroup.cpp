// SPDX-License-Identifier: MIT
// The emulated matrix instructions of a warpgroup and copies of boxes, against plain loops.
#include "async_copies.hpp"
#include "cuda/wgmma_operand.hpp"
#include "driver_state.hpp"
#include "tensor_core.hpp"
#include "warp.hpp"
#include "warpgroup.hpp"

#include <bit>
#include <cstring>
#include <string>
#include <vector>

using ct3d::cuda::wgmma_operand;
using standin::Product;
using standin::tests::run_warps;

namespace {

constexpr uint32_t large_shared_bytes = 64 << 10, b_offset = 16 << 10;

uint8_t *shared_bytes_at(uint32_t offset) { return static_cast<uint8_t *>(standin::dynamic_shared()) + offset; }

// Values that f16, bf16 and tf32 hold exactly, with exact products and sums.
float value(uint32_t i) { return static_cast<float>(static_cast<int>(i * 2654435761u >> 28) - 8) / 2; }
float a_value(uint32_t row, uint32_t k) { return value(row * 64 + k); }
float b_value(uint32_t row, uint32_t k) { return value(row * 64 + k + 9999); }

uint32_t bytes_of(Product type) { return type == Product::tf32 ? 4 : 2; }

void put(Product type, uint8_t *to, float v) {
    const auto bits = std::bit_cast<uint32_t>(v);
    const uint32_t stored = type == Product::f16    ? standin::float_to_half(v)
                            : type == Product::bf16 ? bits >> 16
                                                    : bits | 0x1fff; // the low bits do not count
    std::memcpy(to, &stored, bytes_of(type));
}

// The 16 bytes of a row that stand in place `part`: 128 bytes of rows, from an address that is a multiple of them, hold
// the same parts exchanged by their number modulo 8, and so on.
uint32_t place(uint32_t row, uint32_t part, uint32_t slab_bytes) {
    return part ^ (slab_bytes == 128 ? row % 8 : slab_bytes == 64 ? row / 2 % 4 : row / 4 % 2);
}

struct Operand {
    Product type;
    uint32_t offset, rows, slab_bytes;
    float (*value)(uint32_t row, uint32_t k);

    void write() const {
        const uint32_t size = bytes_of(type);
        for (uint32_t row = 0; row < rows; ++row)
            for (uint32_t k = 0; k < slab_bytes / size; ++k) {
                const uint32_t at = place(row, k * size / 16, slab_bytes) * 16 + k * size % 16;
                put(type, shared_bytes_at(offset + row * slab_bytes + at), value(row, k));
            }
    }
};

uint32_t address_of(uint32_t offset) { return standin::shared_address(shared_bytes_at(offset)); }

// Rows of b from `first` on, in as many instructions as a row has slices.
void check_product(Product type, uint32_t slab_bytes, uint32_t columns, uint32_t first, bool accumulate) {
    const Operand a{type, 0, 64, slab_bytes, a_value}, b{type, b_offset, first + columns, slab_bytes, b_value};
    const uint32_t depth = slab_bytes / bytes_of(type);
    const auto body = [&](uint32_t thread) {
        if (thread == 0) {
            a.write();
            b.write();
        }
        __syncthreads();
        std::vector<float> sums(columns / 2, accumulate ? 3.0f : 1e30f);
        standin::fence_products();
        for (uint32_t at = 0; at < slab_bytes; at += 32)
            standin::warpgroup_multiply(
                type, columns, sums.data(), wgmma_operand(address_of(a.offset + at), slab_bytes),
                wgmma_operand(address_of(b.offset + first * slab_bytes + at), slab_bytes), accumulate || at > 0);
        standin::commit_products();
        standin::wait_products(0);
        const uint32_t lane = thread % 32, warp = thread / 32 % 4;
        for (uint32_t i = 0; i < columns / 2; ++i) {
            const uint32_t row = warp * 16 + (lane >> 2) + (i & 2 ? 8 : 0);
            const uint32_t column = (i >> 2) * 8 + (lane & 3) * 2 + (i & 1);
            float expected = accumulate ? 3.0f : 0.0f;
            for (uint32_t k = 0; k < depth; ++k)
                expected += a_value(row, k) * b_value(first + column, k);
            assert_true(sums[i] == expected);
        }
    };
    run_warps(8, body, large_shared_bytes);
}

// The same with a in registers, which hold what the descriptor would find.
void check_product_of_registers(Product type, uint32_t columns) {
    constexpr uint32_t slab_bytes = 32;
    const Operand b{type, b_offset, columns, slab_bytes, b_value};
    const uint32_t size = bytes_of(type), of_word = 4 / size, depth = slab_bytes / size;
    const auto body = [&](uint32_t thread) {
        if (thread == 0)
            b.write();
        __syncthreads();
        const uint32_t lane = thread % 32, warp = thread / 32 % 4;
        uint32_t a[4] = {};
        for (uint32_t i = 0; i < 4; ++i) {
            uint8_t bytes[4];
            for (uint32_t k = 0; k < of_word; ++k)
                put(type, bytes + k * size,
                    a_value(warp * 16 + lane / 4 + (i & 1) * 8, (lane % 4 + (i & 2) * 2) * of_word + k));
            std::memcpy(&a[i], bytes, 4);
        }
        std::vector<float> sums(columns / 2, 1e30f);
        standin::fence_products();
        standin::warpgroup_multiply(type, columns, sums.data(), a, wgmma_operand(address_of(b.offset), slab_bytes),
                                    false);
        standin::commit_products();
        standin::wait_products(0);
        for (uint32_t i = 0; i < columns / 2; ++i) {
            const uint32_t row = warp * 16 + (lane >> 2) + (i & 2 ? 8 : 0);
            const uint32_t column = (i >> 2) * 8 + (lane & 3) * 2 + (i & 1);
            float expected = 0;
            for (uint32_t k = 0; k < depth; ++k)
                expected += a_value(row, k) * b_value(column, k);
            assert_true(sums[i] == expected);
        }
    };
    run_warps(8, body, large_shared_bytes);
}

void products_are_right(void **) {
    for (const Product type : {Product::f16, Product::bf16, Product::tf32})
        for (const uint32_t slab_bytes : {32u, 64u, 128u})
            for (const uint32_t first : {0u, 1u, 6u, 19u})
                for (const uint32_t columns : {8u, 136u})
                    check_product(type, slab_bytes, columns, first, first == 6);
    check_product(Product::f16, 128, 256, 5, false);
    for (const Product type : {Product::f16, Product::bf16, Product::tf32})
        check_product_of_registers(type, 32);
}

// ---- boxes

// Two-byte elements that number the cells of a tensor from 1 on; the rows have a gap behind them.
struct Tensor {
    static constexpr uint32_t size[] = {24, 2, 5, 4, 3}, pitch = 64;
    alignas(16) uint8_t bytes[size[1] * size[2] * size[3] * size[4] * pitch];

    static uint16_t number(const int64_t (&at)[5]) {
        int64_t index = 0;
        for (uint32_t axis = 5; axis-- > 0;) {
            if (at[axis] < 0 || at[axis] >= size[axis])
                return 0;
            index = index * size[axis] + at[axis];
        }
        return static_cast<uint16_t>(index + 1);
    }

    Tensor() {
        std::memset(bytes, 0xff, sizeof bytes);
        for (uint32_t row = 0; row < sizeof bytes / pitch; ++row)
            for (uint32_t c = 0; c < size[0]; ++c) {
                const auto element = static_cast<uint16_t>(row * size[0] + c + 1);
                std::memcpy(bytes + row * pitch + c * 2, &element, 2);
            }
    }

    // What the driver is given.
    struct Description {
        CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
        size_t first = 0; // byte
        cuuint64_t size[5] = {24, 2, 5, 4, 3}, stride[4] = {pitch, 2 * pitch, 10 * pitch, 40 * pitch};
        cuuint32_t box[5] = {16, 2, 3, 2, 2}, element_strides[5] = {1, 1, 1, 1, 1};
        CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
    };

    CUresult describe(const Description &d, CUtensorMap &map) {
        return cuTensorMapEncodeTiled(&map, d.type, 5, bytes + d.first, d.size, d.stride, d.box, d.element_strides,
                                      CU_TENSOR_MAP_INTERLEAVE_NONE, d.swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    }
};

void use_driver() {
    static CUctx_st context{};
    standin::driver().initialised = true;
    standin::context_stack().assign(1, &context);
}

void check_box(Tensor &tensor, uint32_t slab_bytes, const int32_t (&first)[5]) {
    Tensor::Description description;
    description.box[0] = slab_bytes / 2;
    description.swizzle = slab_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                          : slab_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                             : CU_TENSOR_MAP_SWIZZLE_32B;
    CUtensorMap map;
    assert_int_equal(tensor.describe(description, map), CUDA_SUCCESS);
    const cuuint32_t(&box)[5] = description.box;
    const uint32_t rows = box[1] * box[2] * box[3] * box[4];
    run_warps(1, [&](uint32_t thread) {
        const uint32_t barrier = address_of(3840), to = address_of(0);
        if (thread == 0) {
            standin::barrier_init(barrier, 1);
            standin::barrier_expect(barrier, rows * slab_bytes);
            standin::tensor_load(to, &map, first, barrier);
        }
        __syncthreads();
        standin::barrier_wait(barrier, 0);
        for (uint32_t row = thread; row < rows; row += 32)
            for (uint32_t c = 0; c < box[0]; ++c) {
                int64_t at[5] = {first[0] + static_cast<int64_t>(c)};
                for (uint32_t axis = 1, rest = row; axis < 5; rest /= box[axis++])
                    at[axis] = first[axis] + static_cast<int64_t>(rest % box[axis]);
                uint16_t got;
                std::memcpy(&got, shared_bytes_at(row * slab_bytes + place(row, c / 8, slab_bytes) * 16 + c % 8 * 2),
                            2);
                assert_int_equal(got, Tensor::number(at));
            }
    });
}

void boxes_are_loaded(void **) {
    use_driver();
    Tensor tensor;
    for (const uint32_t slab_bytes : {32u, 64u, 128u}) {
        check_box(tensor, slab_bytes, {0, 0, 0, 0, 0});
        check_box(tensor, slab_bytes, {8, 0, 2, 1, 1});
        check_box(tensor, slab_bytes, {0, 0, -1, -1, -1});
        check_box(tensor, slab_bytes, {-3, 1, 4, 3, 2});
        check_box(tensor, slab_bytes, {0, 0, 0, -2, 0});
        check_box(tensor, slab_bytes, {0, 0, 0, 0, 3});
    }
}

void tensors_that_no_copy_takes(void **) {
    use_driver();
    static Tensor tensor;
    using Change = void (*)(Tensor::Description &);
    static constexpr Change changes[] = {
        [](Tensor::Description &d) { d.first = 8; },
        [](Tensor::Description &d) { d.size[3] = 0; },
        [](Tensor::Description &d) { d.stride[2] = 40; },
        [](Tensor::Description &d) { d.stride[1] = cuuint64_t{1} << 40; },
        [](Tensor::Description &d) { d.box[4] = 0; },
        [](Tensor::Description &d) { d.box[4] = 257; },
        [](Tensor::Description &d) { d.box[0] = 12; }, // 24 bytes
        [](Tensor::Description &d) { d.box[0] = 24; }, // more than is swizzled
        [](Tensor::Description &d) { d.element_strides[1] = 2; },
    };
    CUtensorMap map;
    assert_int_equal(tensor.describe({}, map), CUDA_SUCCESS);
    for (const Change change : changes) {
        Tensor::Description description;
        change(description);
        assert_int_equal(tensor.describe(description, map), CUDA_ERROR_INVALID_VALUE);
    }
}

// ---- mbarriers

void phases_alternate(void **) {
    run_warps(2, [](uint32_t thread) {
        auto *const turns = reinterpret_cast<volatile uint32_t *>(shared_bytes_at(0));
        const uint32_t barrier = address_of(1024);
        turns[thread] = 0;
        if (thread == 0)
            standin::barrier_init(barrier, 64);
        __syncthreads();
        standin::barrier_wait(barrier, 1); // the phase before the first has ended
        for (uint32_t turn = 1; turn < 6; ++turn) {
            turns[thread] = turn;
            standin::barrier_arrive(barrier);
            standin::barrier_wait(barrier, (turn - 1) & 1);
            for (uint32_t other = 0; other < 64; ++other)
                assert_true(turns[other] == turn || turns[other] == turn + 1);
        }
    });
}

// ---- what is shown

// Whether all sums are right when the operands are given up after, or before, the wait.
bool operands_last(bool waits_first) {
    constexpr uint32_t slab_bytes = 32, columns = 8;
    const Operand a{Product::f16, 0, 64, slab_bytes, a_value}, b{Product::f16, b_offset, columns, slab_bytes, b_value};
    bool right = true;
    const auto body = [&](uint32_t thread) {
        if (thread == 0) {
            a.write();
            b.write();
        }
        __syncthreads();
        float sums[columns / 2];
        standin::fence_products();
        standin::warpgroup_multiply(Product::f16, columns, sums, wgmma_operand(address_of(0), slab_bytes),
                                    wgmma_operand(address_of(b_offset), slab_bytes), false);
        standin::commit_products();
        if (waits_first)
            standin::wait_products(0);
        __syncthreads();
        std::memset(shared_bytes_at(64 * slab_bytes / 128 * thread), 0xff, 64 * slab_bytes / 128);
        __syncthreads();
        standin::wait_products(0);
        for (const float sum : sums)
            right &= sum == sum;
    };
    run_warps(4, body, large_shared_bytes);
    return right;
}

void early_release_shows(void **) {
    int right_without = 0;
    for (int seed = 0; seed < 20; ++seed) {
        setenv("CT3D_STANDIN_SEED", std::to_string(seed).c_str(), 1);
        assert_true(operands_last(true));
        right_without += operands_last(false);
    }
    unsetenv("CT3D_STANDIN_SEED");
    assert_true(right_without < 5);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right),         cmocka_unit_test(boxes_are_loaded),
        cmocka_unit_test(tensors_that_no_copy_takes), cmocka_unit_test(phases_alternate),
        cmocka_unit_test(early_release_shows),
    };
    return cmocka_run_group_tests_name("standin_warpgroup", tests, nullptr, nullptr);
}
