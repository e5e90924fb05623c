// SPDX-License-Identifier: MIT
// A shared library that is opened while the program runs, so that none of it is needed at start.
#pragma once

namespace ct3d {

// Stays open until the process ends: what a driver has started does not outlive its code.
class Dynlib {
public:
    explicit Dynlib(const char *file); // throws Error(CT3D_UNSUPPORTED) with the loader's reason

    static bool is_loaded(const char *file); // by anyone in this process

    void *find(const char *symbol) const; // null where the library has none of that name

private:
    void *handle_;
};

} // namespace ct3d
