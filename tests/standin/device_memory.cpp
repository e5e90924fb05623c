// SPDX-License-Identifier: MIT
#include "device_memory.hpp"

#include "calls.hpp"

#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace standin {

namespace {

constexpr size_t alignment = 512, most_poisoned = 16 << 20;

} // namespace

size_t host_memory() {
    return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void *allocate(size_t bytes) {
    const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void *const memory = rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
    if (!memory)
        return nullptr;
    std::memset(memory, 0xff, bytes < most_poisoned ? bytes : most_poisoned);
    const std::lock_guard lock(state().mutex);
    state().allocations[memory] = bytes;
    return memory;
}

bool release(void *memory) {
    {
        const std::lock_guard lock(state().mutex);
        if (state().allocations.erase(memory) == 0)
            return false;
    }
    std::free(memory);
    return true;
}

} // namespace standin
