// SPDX-License-Identifier: MIT
#include "images.hpp"

#include "../status.hpp"
#include "code_objects.h" // made by the build

#include <string_view>

// Defined in assembly files, also made by the build.
#define CT3D_DECLARE(arch, name)                                                                                       \
    extern "C" [[gnu::visibility("hidden")]] const unsigned char ct3d_hip_image_##arch##_##name[];
CT3D_HIP_CODE_OBJECTS(CT3D_DECLARE)

namespace ct3d::hip {

namespace {

#define CT3D_ENTRY(arch, name) {#arch, #name, ct3d_hip_image_##arch##_##name},
constexpr struct {
    std::string_view arch, name;
    const unsigned char *bytes;
} images[] = {CT3D_HIP_CODE_OBJECTS(CT3D_ENTRY)};

} // namespace

bool has_images(const char *arch) {
    for (const auto &image : images)
        if (image.arch == arch)
            return true;
    return false;
}

std::string image_architectures() {
    std::string list;
    std::string_view last;
    for (const auto &image : images) {
        if (image.arch == last)
            continue;
        last = image.arch;
        list += list.empty() ? "" : ", ";
        list += last;
    }
    return list;
}

const void *find_image(const char *arch, const char *name) {
    for (const auto &image : images)
        if (image.arch == arch && image.name == name)
            return image.bytes;
    throw Error(CT3D_INTERNAL, "there is no image \"%s\" for %s", name, arch);
}

} // namespace ct3d::hip
