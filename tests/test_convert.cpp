// SPDX-License-Identifier: MIT
// The library's 16-bit conversions against the engine's, which share nothing: every 16-bit value, and every f32 near a
// boundary between two of them.
#include "cpu/convert.hpp"
#include "dtype.hpp"
#include "support.h"

#include <bit>
#include <cmath>
#include <initializer_list>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace {

namespace cpu = ct3d::cpu;
namespace engine = ct3d::engine;

// Bits of the engine's rounding of an f32; all NaNs are alike.
template <class EngineType> uint16_t expected_bits(float value) {
    return engine::from_double<EngineType>(static_cast<double>(value)).bits;
}

template <class EngineType> bool is_nan(uint16_t bits) { return std::isnan(engine::to_double(EngineType{bits})); }

template <class Library, class Engine> void widening_is_exact(void **) {
    for (uint32_t i = 0; i <= 0xffff; ++i) {
        const auto bits = static_cast<uint16_t>(i);
        const double expected = engine::to_double(Engine{bits}), got = static_cast<double>(cpu::widen(Library{bits}));
        if (std::isnan(expected))
            assert_true(std::isnan(got));
        else
            assert_true(std::bit_cast<uint64_t>(expected) == std::bit_cast<uint64_t>(got));
    }
}

template <class Library, class Engine> void expect_narrowed(uint32_t f32_bits) {
    const auto value = std::bit_cast<float>(f32_bits);
    const uint16_t got = cpu::narrow<Library>(value).bits, expected = expected_bits<Engine>(value);
    if (std::isnan(value) ? !is_nan<Engine>(got) : got != expected)
        fail_msg("f32 %08x narrows to %04x, expected %04x", f32_bits, got, expected);
}

// Around the f32 of each 16-bit value and around the middle between it and the next.
template <class Library, class Engine> void narrowing_rounds_to_nearest_even(void **) {
    for (uint32_t i = 0; i <= 0xffff; ++i) {
        const auto bits = static_cast<uint16_t>(i);
        const uint32_t at = std::bit_cast<uint32_t>(cpu::widen(Library{bits}));
        const uint32_t next = std::bit_cast<uint32_t>(cpu::widen(Library{static_cast<uint16_t>(bits + 1)}));
        const uint32_t middle = at + (next - at) / 2;
        for (uint32_t distance = 0; distance < 4; ++distance)
            for (const uint32_t center : {at, middle}) {
                expect_narrowed<Library, Engine>(center + distance);
                expect_narrowed<Library, Engine>(center - distance);
            }
    }
}

template <class Library, class Engine> void narrowing_of_any_f32(void **) {
    uint64_t random = test_seed();
    for (int i = 0; i < 5000000; ++i)
        expect_narrowed<Library, Engine>(static_cast<uint32_t>(next_random(&random) >> 32));
}

#ifdef __SSE__
// A thread may be set to take subnormal f32 for zero, as programs linked with -ffast-math are; halves stay whole.
void subnormal_halves_survive_denormals_are_zero(void **) {
    const unsigned saved = _mm_getcsr();
    _mm_setcsr(saved | 0x8040u);
    volatile uint16_t bits = 0;
    int lost = 0;
    for (uint16_t i = 1; i < 0x400; ++i) {
        bits = i;
        lost += cpu::widen(cpu::Half{bits}) != static_cast<float>(i) * 0x1p-24f;
    }
    _mm_setcsr(saved);
    assert_int_equal(lost, 0);
}
#endif

} // namespace

int main() {
    const CMUnitTest tests[] = {
        {"f16 widening is exact", widening_is_exact<cpu::Half, engine::Half>, nullptr, nullptr, nullptr},
        {"bf16 widening is exact", widening_is_exact<cpu::Bfloat, engine::Bfloat>, nullptr, nullptr, nullptr},
        {"f16 rounds to nearest even", narrowing_rounds_to_nearest_even<cpu::Half, engine::Half>, nullptr, nullptr,
         nullptr},
        {"bf16 rounds to nearest even", narrowing_rounds_to_nearest_even<cpu::Bfloat, engine::Bfloat>, nullptr, nullptr,
         nullptr},
        {"f16 of any f32", narrowing_of_any_f32<cpu::Half, engine::Half>, nullptr, nullptr, nullptr},
        {"bf16 of any f32", narrowing_of_any_f32<cpu::Bfloat, engine::Bfloat>, nullptr, nullptr, nullptr},
#ifdef __SSE__
        cmocka_unit_test(subnormal_halves_survive_denormals_are_zero),
#endif
    };
    return cmocka_run_group_tests_name("convert", tests, nullptr, nullptr);
}
