// SPDX-License-Identifier: MIT
#include "dynlib.hpp"

#include "status.hpp"

#include <dlfcn.h>

namespace ct3d {

Dynlib::Dynlib(const char *file) : handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_)
        return;
    const char *reason = dlerror();
    throw Error(CT3D_UNSUPPORTED, "%s", reason ? reason : file);
}

bool Dynlib::is_loaded(const char *file) {
    void *const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle)
        dlclose(handle);
    return handle;
}

void *Dynlib::find(const char *symbol) const { return dlsym(handle_, symbol); }

} // namespace ct3d
