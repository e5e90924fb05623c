// SPDX-License-Identifier: MIT
// The kernels that oneDNN computes.
#pragma once

#include "../backend.hpp"

namespace ct3d::cpu {

#ifdef CT3D_HAVE_ONEDNN
extern const Candidate onednn_candidate;       // its deconvolution primitive: every op
extern const Candidate onednn_phase_candidate; // a convolution of stride 1 per phase, or one matmul: forward

const char *onednn_version(); // of the library that is running
#else
inline const char *onednn_version() { return ""; }
#endif

} // namespace ct3d::cpu
