// SPDX-License-Identifier: MIT
// The CPU as a backend: one device, its memory, and the list of its kernels.
#include "backend.hpp"

#include "../status.hpp"
#include "direct.hpp"
#include "isa.hpp"
#include "onednn.hpp"
#include "parallel.hpp"
#include "phase_kernel.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace ct3d::cpu {

namespace {

constexpr size_t memory_alignment = 256;

// Kernels walk many rows at once, each in a page of its own: large pages save most of the address translation.
constexpr size_t huge_page = 2u << 20, least_huge_bytes = 8 * huge_page;

uint64_t system_value(int name) {
    const long value = sysconf(name);
    return value > 0 ? static_cast<uint64_t>(value) : 0;
}

// What one core sees, which sysconf overstates on processors with several caches of the last level.
uint64_t last_level_cache() {
    for (int index = 3; index >= 2; --index) {
        char path[64];
        std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        unsigned long kibibytes = 0;
        if (std::FILE *file = std::fopen(path, "r")) {
            const bool read = std::fscanf(file, "%luK", &kibibytes) == 1;
            std::fclose(file);
            if (read)
                return uint64_t{kibibytes} << 10;
        }
    }
    return system_value(_SC_LEVEL3_CACHE_SIZE);
}

void probe(ct3d_backend_info &info) {
    info.device_count = 1;
    std::snprintf(info.version, sizeof info.version, "%s", onednn_version());
}

void device_info(int32_t, ct3d_device_info &info) {
    std::snprintf(info.name, sizeof info.name, "host CPU");
    std::snprintf(info.arch, sizeof info.arch, "%s", best_isa().name);
    info.compute_units = plan_threads(0);
    info.memory = system_value(_SC_PHYS_PAGES) * system_value(_SC_PAGESIZE);
    info.last_level_cache = last_level_cache();
}

std::span<const Candidate> candidates() {
    static const Candidate list[] = {
        phase_candidate,
#ifdef CT3D_HAVE_ONEDNN
        onednn_phase_candidate,
        onednn_candidate,
#endif
        direct_candidate,
    };
    return list;
}

void *alloc(int32_t, uint64_t bytes) {
    const size_t alignment = bytes < least_huge_bytes ? memory_alignment : huge_page;
    const uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void *memory = rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
    if (!memory)
        throw Error(CT3D_OUT_OF_MEMORY, "bytes is %" PRIu64 ", host memory ran out", bytes);
    if (alignment == huge_page)
        madvise(memory, rounded, MADV_HUGEPAGE);
    return memory;
}

void free_memory(int32_t, void *memory) { std::free(memory); }

void copy(int32_t, void *destination, const void *source, uint64_t bytes) {
    if (bytes > PTRDIFF_MAX)
        throw Error(CT3D_INVALID_ARGUMENT, "bytes is %" PRIu64 ", more than any memory has", bytes);
    std::memmove(destination, source, bytes);
}

void zero(int32_t, void *, void *memory, uint64_t bytes) { std::memset(memory, 0, bytes); }

void synchronize(int32_t) {}

} // namespace

const Backend backend{CT3D_BACKEND_CPU, "cpu", probe, device_info, plan_threads, candidates, alloc,
                      free_memory,      copy,  zero,  synchronize};

} // namespace ct3d::cpu
