// SPDX-License-Identifier: MIT
// An NVIDIA GPU, as the core must know it.
#include "async_copies.hpp"
#include "machine.hpp"
#include "shared_memory.hpp"
#include "warpgroup.hpp"

namespace standin {

namespace {

void begin_block(uint32_t threads) {
    begin_copies(threads);
    begin_products(threads);
}

void end_block() {
    end_products();
    end_copies();
}

} // namespace

Machine machine() { return {32, most_shared_bytes, begin_block, end_block}; }

} // namespace standin
