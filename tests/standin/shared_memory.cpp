// SPDX-License-Identifier: MIT
#include "shared_memory.hpp"

#include "fibers.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace standin {

namespace {

constexpr uint32_t guard_bytes = 4096, dynamic_window = 1024, static_window = 1 << 20;
constexpr uint32_t most_static_bytes = 48 << 10;
constexpr uint8_t poison = 0xff, guard = 0xfb; // NaN in every type

alignas(1024) uint8_t arena[most_shared_bytes + guard_bytes];
uint32_t arena_bytes, block_bytes;

struct Variable {
    uint8_t *begin;
    uint32_t bytes, address;
};
std::vector<Variable> variables;

} // namespace

void *dynamic_shared() { return arena; }

void begin_shared(uint32_t dynamic_bytes, uint32_t most_bytes) {
    if (dynamic_bytes > most_bytes || most_bytes > most_shared_bytes)
        fault("%u bytes of dynamic shared memory", dynamic_bytes);
    arena_bytes = dynamic_bytes;
    block_bytes = most_bytes;
    std::memset(arena, poison, dynamic_bytes);
    std::memset(arena + dynamic_bytes, guard, guard_bytes);
    variables.clear();
}

void end_shared() {
    const uint8_t *const end = arena + arena_bytes;
    const auto *const changed = std::find_if(end, end + guard_bytes, [](uint8_t byte) { return byte != guard; });
    if (changed != end + guard_bytes)
        fault("shared memory was written at byte %td of %u", changed - arena, arena_bytes);
}

void use_shared(void *variable, size_t bytes) {
    auto *const begin = static_cast<uint8_t *>(variable);
    for (const Variable &v : variables)
        if (v.begin == begin)
            return;
    const uint32_t address = variables.empty() ? static_window : variables.back().address + variables.back().bytes;
    const uint32_t aligned = (address + 127) / 128 * 128;
    if (aligned + bytes > static_window + most_static_bytes)
        fault("more than %u bytes of static shared memory", most_static_bytes);
    if (aligned - static_window + bytes + arena_bytes > block_bytes)
        fault("more than %u bytes of shared memory, %u of them dynamic", block_bytes, arena_bytes);
    variables.push_back({begin, static_cast<uint32_t>(bytes), aligned});
    std::memset(begin, poison, bytes);
}

uint32_t shared_address(const void *pointer) {
    const auto *const at = static_cast<const uint8_t *>(pointer);
    if (at >= arena && at <= arena + arena_bytes)
        return dynamic_window + static_cast<uint32_t>(at - arena);
    for (const Variable &v : variables)
        if (at >= v.begin && at < v.begin + v.bytes)
            return v.address + static_cast<uint32_t>(at - v.begin);
    fault("%p is not in shared memory", pointer);
}

void *shared_pointer(uint32_t address, uint32_t bytes) {
    const uint64_t end = uint64_t{address} + bytes;
    if (address >= dynamic_window && end <= uint64_t{dynamic_window} + arena_bytes)
        return arena + (address - dynamic_window);
    for (const Variable &v : variables)
        if (address >= v.address && end <= uint64_t{v.address} + v.bytes)
            return v.begin + (address - v.address);
    fault("shared address %u of %u bytes is outside: dynamic shared memory has %u bytes from %u on", address, bytes,
          arena_bytes, dynamic_window);
}

} // namespace standin
