// SPDX-License-Identifier: MIT
#include "values.hpp"

#include "case.hpp"

namespace ct3d::engine {
namespace {

constexpr Value dtypes[] = {{"f32", CT3D_F32}, {"f16", CT3D_F16}, {"bf16", CT3D_BF16}, {"f64", CT3D_F64}};
constexpr Value maths[] = {{"fp32", CT3D_MATH_FP32}, {"tf32", CT3D_MATH_TF32}};
constexpr Value layouts[] = {{"ncdhw", CT3D_NCDHW}, {"ndhwc", CT3D_NDHWC}};
constexpr Value weights_layouts[] = {{"iodhw", CT3D_IODHW}, {"idhwo", CT3D_IDHWO}};
constexpr Value ops[] = {
    {"forward", CT3D_FORWARD}, {"backward_data", CT3D_BACKWARD_DATA}, {"backward_weights", CT3D_BACKWARD_WEIGHTS}};
constexpr Value biases[] = {{"0", 0}, {"1", 1}};

constexpr int32_t number(Fill fill) { return static_cast<int32_t>(fill); }
constexpr Value fills[] = {{"symmetric", number(Fill::symmetric)}, {"positive", number(Fill::positive)},
                           {"constant", number(Fill::constant)},   {"exact", number(Fill::exact)},
                           {"identity", number(Fill::identity)},   {"onehot", number(Fill::onehot)}};

constexpr Key all_keys[] = {{"dtype", dtypes, CT3D_F32},
                            {"math", maths, CT3D_MATH_FP32},
                            {"layout", layouts, CT3D_NCDHW},
                            {"wlayout", weights_layouts, CT3D_IODHW},
                            {"op", ops, CT3D_FORWARD},
                            {"bias", biases, 1},
                            {"fill", fills, number(Fill::symmetric)}};

} // namespace

std::span<const Key> keys() { return all_keys; }

const Key *find_key(std::string_view name) {
    for (const Key &key : all_keys)
        if (name == key.name)
            return &key;
    return nullptr;
}

const Value *find_value(const Key &key, std::string_view name) {
    for (const Value &value : key.values)
        if (name == value.name)
            return &value;
    return nullptr;
}

const char *value_name(const Key &key, int32_t number) {
    for (const Value &value : key.values)
        if (number == value.number)
            return value.name;
    return "?";
}

} // namespace ct3d::engine
