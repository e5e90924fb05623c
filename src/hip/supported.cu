// SPDX-License-Identifier: MIT
// Compiles with a compiler that can make code for an architecture.
#if !defined(__GFX9__) && __clang_major__ < 16
#error "this clang knows no gfx11, or is the first that does; or it is too old to tell gfx9"
#endif

extern "C" __global__ void __launch_bounds__(256, 2) ct3d_supported(const __grid_constant__ uint4 p, float *to) {
    extern __shared__ float4 shared_memory[];
    shared_memory[threadIdx.x] = make_float4(p.x, p.y, p.z, p.w);
    __syncthreads();
    to[threadIdx.x] = __shfl_sync(0xffffffff, shared_memory[0].x, 0);
}
