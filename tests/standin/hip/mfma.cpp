// SPDX-License-Identifier: MIT
#include "mfma.hpp"

#include "chip.hpp"
#include "fibers.hpp"
#include "half.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace standin {

namespace {

constexpr uint32_t lanes = 64, size = 16; // of rows and of columns
constexpr uint64_t whole_wave = ~uint64_t{0};

float without_subnormals(float v) {
    return std::abs(v) < std::numeric_limits<float>::min() ? std::copysign(0.0f, v) : v;
}

// per_lane: neighbours in k that a lane holds.
struct F16 {
    using Operand = uint64_t;
    static constexpr uint32_t per_lane = 4;
    static float value(uint64_t operand, uint32_t e, bool flushes) {
        const auto bits = static_cast<uint16_t>(operand >> (16 * e));
        return half_to_float(flushes && !(bits & 0x7c00) ? bits & 0x8000 : bits);
    }
    static float add(float sum, float a, float b) { return sum + a * b; }
    static float result(float sum, bool flushes) { return flushes ? without_subnormals(sum) : sum; }
};
struct Bf16 : F16 {
    static float value(uint64_t operand, uint32_t e, bool flushes) {
        const auto v = std::bit_cast<float>(static_cast<uint32_t>(operand >> (16 * e)) << 16);
        return flushes ? without_subnormals(v) : v;
    }
};
struct Xf32 : F16 {
    static constexpr uint32_t per_lane = 2;
    static float value(uint64_t operand, uint32_t e, bool) {
        return std::bit_cast<float>(static_cast<uint32_t>(operand >> (32 * e)) & 0xffffe000);
    }
    static float result(float sum, bool) { return sum; }
};
struct F32 {
    using Operand = float;
    static constexpr uint32_t per_lane = 1;
    static float value(float operand, uint32_t, bool) { return operand; }
    static float add(float sum, float a, float b) { return std::fma(a, b, sum); }
    static float result(float sum, bool) { return sum; }
};

template <class Type> struct Operands {
    float *d;
    typename Type::Operand a, b;
};

uint32_t row(uint32_t lane, uint32_t i) { return 4 * (lane / size) + i; }

template <class Type> void multiply(void *const given[], uint64_t) {
    constexpr uint32_t depth = lanes / size * Type::per_lane;
    const bool flushes = running_chip().flushes;
    float a[size][depth], b[depth][size], d[size][size];
    const auto of = [&](uint32_t lane) -> const Operands<Type> & {
        return *static_cast<const Operands<Type> *>(given[lane]);
    };
    for (uint32_t lane = 0; lane < lanes; ++lane) {
        const uint32_t outer = lane % size, k = lane / size * Type::per_lane;
        for (uint32_t e = 0; e < Type::per_lane; ++e) {
            a[outer][k + e] = Type::value(of(lane).a, e, flushes);
            b[k + e][outer] = Type::value(of(lane).b, e, flushes);
        }
        for (uint32_t i = 0; i < 4; ++i)
            d[row(lane, i)][outer] = Type::result(of(lane).d[i], flushes);
    }
    for (uint32_t i = 0; i < size; ++i)
        for (uint32_t k = 0; k < depth; ++k)
            for (uint32_t j = 0; j < size; ++j)
                d[i][j] = Type::add(d[i][j], a[i][k], b[k][j]);
    for (uint32_t lane = 0; lane < lanes; ++lane)
        for (uint32_t i = 0; i < 4; ++i)
            of(lane).d[i] = Type::result(d[row(lane, i)][lane % size], flushes);
}

template <class Type>
void issue(const char *name, bool present, float *d, typename Type::Operand a, typename Type::Operand b) {
    if (!present)
        fault("%s has no %s", running_chip().arch, name);
    Operands<Type> own{d, a, b};
    collective(whole_wave, &own, multiply<Type>);
}

} // namespace

void mfma_f32_16x16x16_f16(float (&d)[4], uint64_t a, uint64_t b) {
    issue<F16>("v_mfma_f32_16x16x16_f16", running_chip().mfma, d, a, b);
}

void mfma_f32_16x16x16_bf16(float (&d)[4], uint64_t a, uint64_t b) {
    issue<Bf16>("v_mfma_f32_16x16x16_bf16", running_chip().mfma, d, a, b);
}

void mfma_f32_16x16x4_f32(float (&d)[4], float a, float b) {
    issue<F32>("v_mfma_f32_16x16x4_f32", running_chip().mfma, d, a, b);
}

void mfma_f32_16x16x8_xf32(float (&d)[4], uint64_t a, uint64_t b) {
    issue<Xf32>("v_mfma_f32_16x16x8_xf32", running_chip().xf32, d, a, b);
}

} // namespace standin
