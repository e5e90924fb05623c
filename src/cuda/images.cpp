// SPDX-License-Identifier: MIT
#include "images.hpp"

#include "../status.hpp"
#include "image_list.h" // made by the build

#include <string_view>

// Defined in assembly files, also made by the build.
#define CT3D_DECLARE(name) extern "C" [[gnu::visibility("hidden")]] const unsigned char ct3d_cuda_image_##name[];
CT3D_CUDA_IMAGES(CT3D_DECLARE)

namespace ct3d::cuda {

namespace {

#define CT3D_ENTRY(name) {#name, ct3d_cuda_image_##name},
constexpr struct {
    std::string_view name;
    const unsigned char *bytes;
} images[] = {CT3D_CUDA_IMAGES(CT3D_ENTRY)};

} // namespace

const int32_t oldest_compute_capability = CT3D_CUDA_OLDEST;

const void *find_image(const char *name) {
    for (const auto &image : images)
        if (image.name == name)
            return image.bytes;
    throw Error(CT3D_INTERNAL, "there is no image \"%s\"", name);
}

} // namespace ct3d::cuda
