// SPDX-License-Identifier: MIT
// Loads and stores of every target, carried out on the host: names that sources for more than one vendor use.
#pragma once

#include "device_language.hpp"
#include "shared_memory.hpp"

namespace ct3d::gpu {

inline uint32_t shared_address(const void *p) { return standin::shared_address(p); }

template <class T> T &at_shared(uint32_t address) {
    if (address % sizeof(T) != 0)
        standin::fault("shared address %u, must be a multiple of %zu", address, sizeof(T));
    return *static_cast<T *>(standin::shared_pointer(address, sizeof(T)));
}

inline uint4 load_shared(uint32_t address) { return at_shared<uint4>(address); }
inline uint2 load_shared_pair(uint32_t address) { return at_shared<uint2>(address); }
inline uint32_t load_shared_word(uint32_t address) { return at_shared<uint32_t>(address); }
inline float load_shared_float(uint32_t address) { return at_shared<float>(address); }
inline uint16_t load_shared_half(uint32_t address) { return at_shared<uint16_t>(address); }
template <class T> void store_shared(uint32_t address, T value) { at_shared<T>(address) = value; }
inline void store_global(void *to, uint4 v) { *static_cast<uint4 *>(to) = v; }
template <class T> void store_shared_from(uint32_t value, uint32_t least, uint32_t address, T v) {
    if (value >= least)
        store_shared(address, v);
}

inline int32_t opaque(int32_t value) { return value; }

} // namespace ct3d::gpu
