// SPDX-License-Identifier: MIT
// The shared memory of the block that runs: poisoned before each block, guarded behind its end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace standin {

constexpr uint32_t most_shared_bytes = 227 << 10; // of any machine

void *dynamic_shared();

// Around each block, which may have `most_bytes`.
void begin_shared(uint32_t dynamic_bytes, uint32_t most_bytes);
void end_shared();

// A variable of the block that is not dynamic; every thread that passes its declaration says so.
void use_shared(void *variable, size_t bytes);

// Addresses of the device's window, as instructions take them.
uint32_t shared_address(const void *);
void *shared_pointer(uint32_t address, uint32_t bytes);

} // namespace standin
