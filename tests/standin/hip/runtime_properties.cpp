// SPDX-License-Identifier: MIT
// The properties of a device, in the two layouts that runtimes have had. A runtime from before ROCm 6 has no function
// for the newer one; later ones have both.
#include "chip.hpp"
#include "device_memory.hpp"
#include "runtime_state.hpp"

#include <cstdio>
#include <cstdlib>

using standin::Chip;

namespace {

template <class Properties> hipError_t fill(const char *function, Properties *to, int device) {
    return standin::call(function, standin::Needs::device, [&] {
        if (device < 0 || device >= standin::device_count())
            return hipErrorInvalidDevice;
        const Chip &chip = standin::chip();
        *to = {};
        std::snprintf(to->name, sizeof to->name, "stand-in on the host");
        std::snprintf(to->gcnArchName, sizeof to->gcnArchName, "%s", chip.arch_name);
        to->totalGlobalMem = standin::host_memory();
        to->sharedMemPerBlock = to->maxSharedMemoryPerMultiProcessor = standin::lds_bytes;
        to->regsPerBlock = 64 << 10;
        to->warpSize = static_cast<int>(chip.wave);
        to->multiProcessorCount =
            static_cast<int>(standin::environment("CT3D_STANDIN_MULTIPROCESSORS", chip.multiprocessors));
        to->memoryClockRate = chip.memory_kilohertz;
        to->memoryBusWidth = chip.memory_bits;
        to->l2CacheSize = chip.l2_bytes;
        return hipSuccess;
    });
}

using Newer = hipError_t(hipDeviceProp_tR0600 *, int);

hipError_t fill_newer(hipDeviceProp_tR0600 *to, int device) { return fill("hipGetDevicePropertiesR0600", to, device); }

} // namespace

extern "C" {

hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000 *to, int device) { return fill(__func__, to, device); }

// Resolved when it is looked up: null is a function that there is not.
[[gnu::visibility("hidden")]] Newer *standin_find_newer() {
    return standin::environment("CT3D_STANDIN_HIP_PROPERTIES", 6) < 6 ? nullptr : fill_newer;
}
[[gnu::ifunc("standin_find_newer")]] hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *, int);

} // extern "C"
