// SPDX-License-Identifier: MIT
// Marks functions that the engine's own device code compiles too.
#pragma once

#ifdef __CUDACC__
#define CT3D_ENGINE_SHARED __host__ __device__ inline
#else
#define CT3D_ENGINE_SHARED inline
#endif
