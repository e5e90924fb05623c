// SPDX-License-Identifier: MIT
// Which of its formats and implementations oneDNN's deconvolution primitive is to run in.
#pragma once

#include "onednn_tensor.hpp"

#include "../backend.hpp"

namespace ct3d::cpu::onednn {

// x, w and y stand for their gradients where the op says so.
struct Format {
    dnnl::primitive_desc primitive;
    std::string implementation;
    MemoryDesc x, w, y, scratchpad;
    Activation x_image, y_image;
    Weights w_image;
    bool multiplies_padding;    // makes a NaN of an x that is not finite where its tap falls outside of dy
    uint64_t scratchpad_offset; // in the workspace
    uint64_t workspace;         // bytes
    double seconds;             // estimated, of a whole execute
};

// The fastest that workspace_limit() permits. Throws Error(CT3D_UNSUPPORTED) if there is none.
Format fastest_format(const PlanContext &);

} // namespace ct3d::cpu::onednn
