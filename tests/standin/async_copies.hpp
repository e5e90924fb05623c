// SPDX-License-Identifier: MIT
// Copies that a thread starts and waits for later. Each is carried out, as the seed draws it, when it is started or
// only when it is waited for, so that a missing wait shows.
#pragma once

#include "tensor_map.hpp"

#include <cstdint>

namespace standin {

// Around each block; the end finds copies that a block must not leave behind.
void begin_copies(uint32_t threads);
void end_copies();

// cp.async: the first `given` bytes come from memory, the rest are zeros.
void copy_async(uint32_t shared, const void *global, uint32_t bytes, uint32_t given);
void commit_async();
void wait_async(uint32_t groups_left);

// cp.async.bulk from shared memory.
void bulk_store(void *global, uint32_t shared, uint32_t bytes);
void commit_bulk();
void wait_bulk(uint32_t groups_left);
void fence_proxy_async();

// cp.async.bulk into shared memory, which completes `bytes` of the barrier's transaction.
void bulk_load(uint32_t shared, const void *global, uint32_t bytes, uint32_t barrier);
void tensor_load(uint32_t shared, const void *map, const int32_t (&at)[tensor_axes], uint32_t barrier);

void barrier_init(uint32_t barrier, uint32_t count);
void barrier_expect(uint32_t barrier, uint32_t bytes); // arrives as well
void barrier_arrive(uint32_t barrier);
void barrier_wait(uint32_t barrier, uint32_t parity);

} // namespace standin
