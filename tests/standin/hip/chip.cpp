// SPDX-License-Identifier: MIT
#include "chip.hpp"

#include "machine.hpp"

#include <cstdlib>
#include <cstring>

namespace standin {

namespace {

constexpr Chip chips[] = {
    {"gfx90a", "gfx90a:sramecc+:xnack-", 0x3f, 64, true, false, true, 104, 8 << 20, 1600000, 4096},
    {"gfx942", "gfx942:sramecc+:xnack-", 0x4c, 64, true, true, false, 304, 4 << 20, 1300000, 8192},
    {"gfx1100", "gfx1100", 0x41, 32, false, false, false, 48, 6 << 20, 1249000, 384},
};

Chip other(const char *arch) { return {arch, arch, 0, 64, false, false, false, 60, 4 << 20, 1000000, 2048}; }

const Chip *running = chips;

void begin_block(uint32_t) { running = &chip(); }
void end_block() {}

} // namespace

const Chip &chip() {
    const char *const arch = std::getenv("CT3D_STANDIN_HIP_ARCH");
    if (!arch)
        return chips[0];
    for (const Chip &c : chips)
        if (std::strcmp(arch, c.arch) == 0)
            return c;
    static const Chip unknown = other(arch);
    return unknown;
}

const Chip &running_chip() { return *running; }

Machine machine() { return {chip().wave, lds_bytes, begin_block, end_block}; }

} // namespace standin
