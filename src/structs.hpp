// SPDX-License-Identifier: MIT
// Public structs across versions: a caller's struct may be shorter or longer than this library's.
#pragma once

#include "status.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace ct3d {

// A struct that was not initialised may say any size, and must not make the library read that far.
constexpr size_t largest_struct = 4096;

// Per struct: the least struct_size that is accepted, and the values that _init gives.
template <class Struct> struct StructRules;

template <> struct StructRules<ct3d_problem> {
    static constexpr size_t least = offsetof(ct3d_problem, w_dtype);
    static void defaults(ct3d_problem &p) {
        p.batch = p.groups = 1;
        for (size_t axis = 0; axis < 3; ++axis)
            p.stride[axis] = p.dilation[axis] = 1;
    }
};
template <> struct StructRules<ct3d_plan_options> {
    static constexpr size_t least = offsetof(ct3d_plan_options, kernel);
    static void defaults(ct3d_plan_options &o) { o.max_workspace = UINT64_MAX; }
};
template <> struct StructRules<ct3d_buffers> {
    static constexpr size_t least = offsetof(ct3d_buffers, stream);
    static void defaults(ct3d_buffers &) {}
};
template <> struct StructRules<ct3d_backend_info> {
    static constexpr size_t least = offsetof(ct3d_backend_info, version);
    static void defaults(ct3d_backend_info &) {}
};
template <> struct StructRules<ct3d_device_info> {
    static constexpr size_t least = offsetof(ct3d_device_info, memory);
    static void defaults(ct3d_device_info &) {}
};

// Writes the first `size` bytes of an initialised struct, and zeros past what this library knows.
template <class Struct> void init_struct(Struct *to, size_t size) {
    if (!to || size < sizeof(size_t))
        return;
    Struct values{};
    StructRules<Struct>::defaults(values);
    values.struct_size = size;
    std::memset(to, 0, size);
    std::memcpy(to, &values, std::min(size, sizeof values));
}

template <class Struct> void check_struct_size(const Struct *from, const char *what) {
    if (!from)
        throw Error(CT3D_INVALID_ARGUMENT, "%s is NULL", what);
    if (from->struct_size < StructRules<Struct>::least)
        throw Error(CT3D_INVALID_ARGUMENT, "%s->struct_size is %zu, must be at least %zu: was its _init called?", what,
                    from->struct_size, StructRules<Struct>::least);
}

// Copies a caller's struct; fields that the caller does not have take their defaults.
template <class Struct> Struct read_struct(const Struct *from, const char *what) {
    check_struct_size(from, what);
    const size_t size = from->struct_size;
    if (size > largest_struct)
        throw Error(CT3D_INVALID_ARGUMENT, "%s->struct_size is %zu, more than any version has: was its _init called?",
                    what, size);
    const auto *bytes = reinterpret_cast<const unsigned char *>(from);
    for (size_t i = sizeof(Struct); i < size; ++i)
        if (bytes[i] != 0)
            throw Error(CT3D_INVALID_ARGUMENT,
                        "%s->struct_size is %zu, and byte %zu, which this version does not know, is not 0", what, size,
                        i);
    Struct values{};
    StructRules<Struct>::defaults(values);
    std::memcpy(&values, from, std::min(size, sizeof values));
    return values;
}

// Fills a caller's struct up to the size that the caller has.
template <class Struct> void write_struct(Struct *to, Struct values) {
    values.struct_size = to->struct_size;
    std::memcpy(to, &values, std::min(to->struct_size, sizeof values));
}

} // namespace ct3d
