// SPDX-License-Identifier: MIT
#include "kernels.hpp"

#include "bad_access.hpp"
#include "device_language.hpp"
#include "machine.hpp"

#include <cstdlib>
#include <numeric>

namespace standin {

uint3 block_index;
dim3 grid_dimensions, block_dimensions;

namespace {

const Kernel *first_kernel;

// CT3D_STANDIN_SEED, or 1; the same for each launch.
uint64_t seed() {
    const char *const text = std::getenv("CT3D_STANDIN_SEED");
    return (text ? std::strtoull(text, nullptr, 0) : 1) * 0x9e3779b97f4a7c15 + 0x1234567;
}

// A step through `count` numbers that visits each once.
uint64_t draw_step(uint64_t count) {
    uint64_t step;
    do
        step = 1 + draws.next() % count;
    while (std::gcd(step, count) != 1);
    return step;
}

} // namespace

Registration::Registration(const char *name, Entry entry, size_t params_bytes)
    : kernel_{name, entry, params_bytes, first_kernel} {
    first_kernel = &kernel_;
}

const Kernel *find_kernel(std::string_view name) {
    for (const Kernel *k = first_kernel; k; k = k->next)
        if (name == k->name)
            return k;
    return nullptr;
}

void launch(const Kernel &kernel, Grid grid, uint32_t threads, uint32_t dynamic_shared_bytes, const void *params) {
    const BadAccess watch;
    const Machine m = machine();
    draws.state = seed();
    grid_dimensions = {grid.x, grid.y, grid.z};
    block_dimensions = {threads, 1, 1};
    const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z, step = draw_step(blocks);
    uint64_t number = draws.next() % blocks;
    for (uint64_t i = 0; i < blocks; ++i, number = (number + step) % blocks) {
        const uint64_t row = number / grid.x;
        block_index = {static_cast<uint32_t>(number % grid.x), static_cast<uint32_t>(row % grid.y),
                       static_cast<uint32_t>(row / grid.y)};
        set_position(kernel.name, number);
        begin_shared(dynamic_shared_bytes, m.shared_bytes);
        m.begin_block(threads);
        run_block(threads, m.warp, kernel.entry, params);
        m.end_block();
        end_shared();
    }
}

} // namespace standin
