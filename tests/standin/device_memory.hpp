// SPDX-License-Identifier: MIT
// Device memory, which is the host's: poisoned when it is allocated.
#pragma once

#include <cstddef>

namespace standin {

size_t host_memory(); // bytes

// Null where there is not enough.
void *allocate(size_t bytes);

// False where nothing was allocated at that address.
bool release(void *);

} // namespace standin
