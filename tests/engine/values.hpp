// SPDX-License-Identifier: MIT
// The names of the case grammar's values beside the numbers of the API.
#pragma once

#include <ct3d/ct3d.h>

#include <span>
#include <string_view>

namespace ct3d::engine {

struct Value {
    const char *name;
    int32_t number;
};

// A key whose value is one of a few names.
struct Key {
    const char *name;
    std::span<const Value> values;
    int32_t fallback; // of a line that does not have the key
};

std::span<const Key> keys();
const Key *find_key(std::string_view name);                  // null if there is no such key
const Value *find_value(const Key &, std::string_view name); // null if there is no such value
const char *value_name(const Key &, int32_t number);

} // namespace ct3d::engine
