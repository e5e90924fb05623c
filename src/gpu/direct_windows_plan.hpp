// SPDX-License-Identifier: MIT
// How the direct kernel cuts a problem into blocks where stride and kernel are compiled in.
#pragma once

#include "../backend.hpp"
#include "device.hpp"
#include "direct_windows_params.hpp"

namespace ct3d::gpu {

// A row of direct_windows_instances.inc.
struct WindowsInstance {
    const char *name; // after type and layout
    int64_t stride;
    Extents kernel;
    int64_t padding;       // of x, modulo the stride
    int64_t tile;          // output channels
    int64_t windows[2][2]; // of an item, along z and y: reading one input channel at once, reading four
    int64_t blocks[2];     // that a multiprocessor has registers for, likewise

    int64_t windows_x() const { return windows_outputs_x / stride; }
};

struct WindowsPlan {
    const WindowsInstance *instance;
    WindowsParams params; // all but the addresses
    int64_t threads, blocks, shared_bytes;
    int64_t channels; // of the input, that are read at once
    double seconds;   // estimated
};

// Whether aligned inputs can be read four channels at once.
bool windows_wide(const Desc &);

// Why there is no plan, or empty and a plan. With `wide` set inputs have to be aligned.
std::string plan_windows(const PlanContext &, const Device &, bool wide, WindowsPlan &);

std::string windows_function(const Desc &, const WindowsPlan &);

} // namespace ct3d::gpu
