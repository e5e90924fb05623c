// SPDX-License-Identifier: MIT
#include "registry.hpp"

#include "cpu/backend.hpp"
#ifdef CT3D_HAVE_CUDA
#include "cuda/backend.hpp"
#endif
#ifdef CT3D_HAVE_HIP
#include "hip/backend.hpp"
#endif
#include "status.hpp"

#include <cinttypes>
#include <cstdio>

namespace ct3d {

namespace {

struct Entry {
    int32_t id;
    const char *name;
    const Backend *backend;
};

const Entry entries[] = {
    {CT3D_BACKEND_CPU, "cpu", &cpu::backend},
#ifdef CT3D_HAVE_CUDA
    {CT3D_BACKEND_CUDA, "cuda", &cuda::backend},
#else
    {CT3D_BACKEND_CUDA, "cuda", nullptr},
#endif
#ifdef CT3D_HAVE_HIP
    {CT3D_BACKEND_HIP, "hip", &hip::backend},
#else
    {CT3D_BACKEND_HIP, "hip", nullptr},
#endif
};

const Entry &entry(int32_t id) {
    for (const Entry &e : entries)
        if (e.id == (id == CT3D_BACKEND_AUTO ? CT3D_BACKEND_CPU : id))
            return e;
    throw Error(CT3D_INVALID_ARGUMENT, "backend is %" PRId32 ", which names no backend", id);
}

} // namespace

ct3d_backend_info backend_info(int32_t id) {
    const Entry &e = entry(id);
    ct3d_backend_info info{};
    info.backend = e.id;
    std::snprintf(info.name, sizeof info.name, "%s", e.name);
    if (e.backend)
        e.backend->probe(info);
    else
        std::snprintf(info.reason, sizeof info.reason, "this build has no %s backend", e.name);
    return info;
}

const Backend &backend_with_device(int32_t id, int32_t device) {
    const ct3d_backend_info info = backend_info(id);
    if (info.device_count == 0)
        throw Error(CT3D_UNSUPPORTED, "backend %s has no device: %s", info.name, info.reason);
    if (device < 0 || device >= info.device_count)
        throw Error(CT3D_INVALID_ARGUMENT, "device is %" PRId32 ", backend %s has %" PRId32, device, info.name,
                    info.device_count);
    return *entry(id).backend;
}

} // namespace ct3d
