// SPDX-License-Identifier: MIT
// The properties of a device, in the two layouts that runtimes have had: written as bytes, at the offsets of ROCm's own
// headers (hip_runtime_api.h of 6.2 and of 5.2), so that the structs of hip_api.h are tested. A runtime from before
// ROCm 6 has no function for the newer one; later ones have both.
#include "chip.hpp"
#include "device_memory.hpp"
#include "runtime_state.hpp"

#include <cstdint>
#include <cstring>

using standin::Chip;

namespace {

struct Layout {
    size_t bytes, name, memory, block_lds, multiprocessors, memory_clock, memory_bus, l2, multiprocessor_lds, arch;
};
constexpr Layout newer{.bytes = 1472,
                       .name = 0,
                       .memory = 288,
                       .block_lds = 296,
                       .multiprocessors = 388,
                       .memory_clock = 608,
                       .memory_bus = 612,
                       .l2 = 616,
                       .multiprocessor_lds = 1416,
                       .arch = 1160};
constexpr Layout older{.bytes = 792,
                       .name = 0,
                       .memory = 256,
                       .block_lds = 264,
                       .multiprocessors = 336,
                       .memory_clock = 312,
                       .memory_bus = 316,
                       .l2 = 340,
                       .multiprocessor_lds = 376,
                       .arch = 396};

class Writer {
public:
    Writer(void *to, size_t bytes) : to_(static_cast<unsigned char *>(to)) {
        constexpr int other = 0xa5; // all that is not told here
        std::memset(to, other, bytes);
    }
    void text(size_t at, const char *value) { std::memcpy(to_ + at, value, std::strlen(value) + 1); }
    void word(size_t at, int32_t value) { std::memcpy(to_ + at, &value, sizeof value); }
    void size(size_t at, uint64_t value) { std::memcpy(to_ + at, &value, sizeof value); }

private:
    unsigned char *const to_;
};

hipError_t fill(const char *function, const Layout &at, void *to, int device) {
    return standin::call(function, standin::Needs::device, [&] {
        if (device < 0 || device >= standin::device_count())
            return hipErrorInvalidDevice;
        const Chip &chip = standin::chip();
        Writer write(to, at.bytes);
        write.text(at.name, "stand-in on the host");
        write.text(at.arch, chip.arch_name);
        write.size(at.memory, standin::host_memory());
        write.size(at.block_lds, standin::lds_bytes);
        write.size(at.multiprocessor_lds, standin::lds_bytes);
        write.word(at.multiprocessors,
                   static_cast<int>(standin::environment("CT3D_STANDIN_MULTIPROCESSORS", chip.multiprocessors)));
        write.word(at.memory_clock, chip.memory_kilohertz);
        write.word(at.memory_bus, chip.memory_bits);
        write.word(at.l2, chip.l2_bytes);
        return hipSuccess;
    });
}

using Newer = hipError_t(hipDeviceProp_tR0600 *, int);

hipError_t fill_newer(hipDeviceProp_tR0600 *to, int device) {
    return fill("hipGetDevicePropertiesR0600", newer, to, device);
}

} // namespace

extern "C" {

hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000 *to, int device) { return fill(__func__, older, to, device); }

// Resolved when it is looked up: null is a function that there is not.
[[gnu::visibility("hidden")]] Newer *standin_find_newer() {
    return standin::environment("CT3D_STANDIN_HIP_PROPERTIES", 6) < 6 ? nullptr : fill_newer;
}
[[gnu::ifunc("standin_find_newer")]] hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *, int);

} // extern "C"
