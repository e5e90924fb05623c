// SPDX-License-Identifier: MIT
#include "dtype.hpp"

namespace ct3d::engine {
namespace {

struct HalfTable {
    double value[1 << 16];
    HalfTable() {
        for (unsigned bits = 0; bits < 1u << 16; ++bits)
            value[bits] = decode(half_format(), static_cast<uint16_t>(bits));
    }
};

} // namespace

double to_double(Half v) {
    static const HalfTable table;
    return table.value[v.bits];
}

double to_double(Bfloat v) { return std::bit_cast<float>(static_cast<uint32_t>(v.bits) << 16); }

template <> float from_double<float>(double v) { return static_cast<float>(v); }
template <> double from_double<double>(double v) { return v; }
template <> Half from_double<Half>(double v) { return {encode(half_format(), v)}; }
template <> Bfloat from_double<Bfloat>(double v) { return {encode(bfloat_format(), v)}; }

size_t element_size(int32_t dtype) {
    return with_type(dtype, [](auto zero) { return sizeof zero; });
}

double load(int32_t dtype, const void *tensor, int64_t index) {
    return with_type(dtype, [&](auto zero) { return to_double(static_cast<const decltype(zero) *>(tensor)[index]); });
}

void store(int32_t dtype, void *tensor, int64_t index, double value) {
    with_type(dtype, [&](auto zero) {
        using T = decltype(zero);
        static_cast<T *>(tensor)[index] = from_double<T>(value);
    });
}

} // namespace ct3d::engine
