// SPDX-License-Identifier: MIT
#include "isa.hpp"

namespace ct3d::cpu {

namespace baseline {
extern const Isa isa;
}
#ifdef CT3D_X86_ISAS
namespace avx2 {
extern const Isa isa;
}
namespace avx512 {
extern const Isa isa;
}
#endif

const Isa &best_isa() {
#ifdef CT3D_X86_ISAS
    static const Isa &best = []() -> const Isa & {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
            return avx512::isa;
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
            return avx2::isa;
        return baseline::isa;
    }();
    return best;
#else
    return baseline::isa;
#endif
}

} // namespace ct3d::cpu
