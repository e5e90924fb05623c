// SPDX-License-Identifier: MIT
#include "tensor_core.hpp"

#include "fibers.hpp"
#include "shared_memory.hpp"

#include <bit>
#include <cstring>

namespace standin {

namespace {

constexpr uint32_t lanes = 32, rows = 16, columns = 8;
constexpr uint64_t whole_warp = 0xffffffff;

struct Operands {
    float *d;
    const uint32_t *a, *b;
};

template <uint32_t Depth> struct F16 {
    static constexpr uint32_t depth = Depth, packing = 2; // packing: elements of a register
    static float value(uint32_t bits) { return half_to_float(static_cast<uint16_t>(bits)); }
};
template <uint32_t Depth> struct Bf16 {
    static constexpr uint32_t depth = Depth, packing = 2;
    static float value(uint32_t bits) { return std::bit_cast<float>(bits << 16); }
};
struct Tf32 {
    static constexpr uint32_t depth = 8, packing = 1;
    static float value(uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000); } // the rest is ignored
};

template <class Type> struct Matrices {
    static constexpr uint32_t registers = Type::depth / Type::packing / 4; // of b; twice as many of a

    float a[rows][Type::depth], b[Type::depth][columns], c[rows][columns];

    void gather(uint32_t lane, const Operands &o) {
        const uint32_t group = lane / 4, member = lane % 4;
        for (uint32_t i = 0; i < 2 * registers; ++i) {
            const uint32_t row = group + 8 * (i % 2), half = i / 2;
            if constexpr (Type::packing == 1)
                a[row][member + 4 * half] = Type::value(o.a[i]);
            else
                for (uint32_t e = 0; e < 2; ++e)
                    a[row][2 * member + 8 * half + e] = Type::value(o.a[i] >> (16 * e) & 0xffff);
        }
        for (uint32_t i = 0; i < registers; ++i)
            if constexpr (Type::packing == 1)
                b[member + 4 * i][group] = Type::value(o.b[i]);
            else
                for (uint32_t e = 0; e < 2; ++e)
                    b[2 * member + 8 * i + e][group] = Type::value(o.b[i] >> (16 * e) & 0xffff);
    }

    // Hands over the element that register i of the lane's accumulator stands for.
    template <class Visit> void each_sum(uint32_t lane, const Visit &visit) {
        for (uint32_t i = 0; i < 4; ++i)
            visit(i, c[lane / 4 + i / 2 * 8][2 * (lane % 4) + i % 2]);
    }

    void multiply() {
        for (uint32_t row = 0; row < rows; ++row)
            for (uint32_t k = 0; k < Type::depth; ++k)
                for (uint32_t column = 0; column < columns; ++column)
                    c[row][column] += a[row][k] * b[k][column];
    }
};

template <class Type> void multiply(void *const given[], uint64_t) {
    Matrices<Type> m;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
        const Operands &o = *static_cast<const Operands *>(given[lane]);
        m.gather(lane, o);
        m.each_sum(lane, [&](uint32_t i, float &sum) { sum = o.d[i]; });
    }
    m.multiply();
    for (uint32_t lane = 0; lane < lanes; ++lane)
        m.each_sum(lane, [&](uint32_t i, float &sum) { static_cast<const Operands *>(given[lane])->d[i] = sum; });
}

struct MatrixMove {
    uint32_t *r;
    uint32_t address;
};

void *matrix_row(void *const given[], uint32_t lane) {
    const uint32_t address = static_cast<const MatrixMove *>(given[lane])->address;
    if (address % 16 != 0)
        fault("ldmatrix or stmatrix: the address of lane %u is %u, must be a multiple of 16", lane, address);
    return shared_pointer(address, 16);
}

template <bool transposed> void load_matrices(void *const given[], uint64_t) {
    for (uint32_t i = 0; i < 4; ++i) {
        uint16_t matrix[8][8];
        for (uint32_t row = 0; row < 8; ++row)
            std::memcpy(matrix[row], matrix_row(given, 8 * i + row), 16);
        for (uint32_t lane = 0; lane < lanes; ++lane) {
            const uint32_t group = lane / 4, pair = 2 * (lane % 4);
            const uint32_t low = transposed ? matrix[pair][group] : matrix[group][pair];
            const uint32_t high = transposed ? matrix[pair + 1][group] : matrix[group][pair + 1];
            static_cast<const MatrixMove *>(given[lane])->r[i] = low | high << 16;
        }
    }
}

template <bool transposed> void store_matrices(void *const given[], uint64_t) {
    for (uint32_t i = 0; i < 4; ++i) {
        uint16_t matrix[8][8];
        for (uint32_t lane = 0; lane < lanes; ++lane)
            for (uint32_t e = 0; e < 2; ++e) {
                const uint32_t group = lane / 4, member = 2 * (lane % 4) + e;
                uint16_t &to = transposed ? matrix[member][group] : matrix[group][member];
                to = static_cast<uint16_t>(static_cast<const MatrixMove *>(given[lane])->r[i] >> (16 * e));
            }
        for (uint32_t row = 0; row < 8; ++row)
            std::memcpy(matrix_row(given, 8 * i + row), matrix[row], 16);
    }
}

} // namespace

void mma_m16n8k16_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    Operands o{d, a, b};
    collective(whole_warp, &o, multiply<F16<16>>);
}

void mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    Operands o{d, a, b};
    collective(whole_warp, &o, multiply<Bf16<16>>);
}

void mma_m16n8k8_f16(float (&d)[4], const uint32_t (&a)[2], uint32_t b) {
    Operands o{d, a, &b};
    collective(whole_warp, &o, multiply<F16<8>>);
}

void mma_m16n8k8_bf16(float (&d)[4], const uint32_t (&a)[2], uint32_t b) {
    Operands o{d, a, &b};
    collective(whole_warp, &o, multiply<Bf16<8>>);
}

void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    Operands o{d, a, b};
    collective(whole_warp, &o, multiply<Tf32>);
}

void ldmatrix_x4(uint32_t (&r)[4], uint32_t address, bool transposed) {
    MatrixMove load{r, address};
    collective(whole_warp, &load, transposed ? load_matrices<true> : load_matrices<false>);
}

void stmatrix_x4(uint32_t address, const uint32_t (&r)[4], bool transposed) {
    uint32_t copy[] = {r[0], r[1], r[2], r[3]};
    MatrixMove store{copy, address};
    collective(whole_warp, &store, transposed ? store_matrices<true> : store_matrices<false>);
}

} // namespace standin
