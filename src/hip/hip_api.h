/* SPDX-License-Identifier: MIT */
/* The part of the HIP runtime's interface that is used here: declared by ourselves, so that no ROCm is needed to build.
 * Names, values and layouts are those of libamdhip64 from ROCm 5 on. */
#ifndef CT3D_HIP_API_H
#define CT3D_HIP_API_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorOutOfMemory = 2,
    hipErrorInvalidConfiguration = 9,
    hipErrorInvalidMemcpyDirection = 21,
    hipErrorNoDevice = 100,
    hipErrorInvalidDevice = 101,
    hipErrorInvalidImage = 200,
    hipErrorNoBinaryForGpu = 209,
    hipErrorInvalidKernelFile = 218,
    hipErrorSharedObjectInitFailed = 303,
    hipErrorInvalidHandle = 400,
    hipErrorIllegalState = 401,
    hipErrorNotFound = 500,
    hipErrorStreamCaptureUnsupported = 900,
    hipErrorStreamCaptureImplicit = 906,
    hipErrorTbd = 1054 /* the last: a result is in the range of the others */
} hipError_t;

typedef enum {
    hipMemcpyHostToHost = 0,
    hipMemcpyDefault = 4 /* by the addresses */
} hipMemcpyKind;

typedef enum { HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1 /* static */ } hipFunction_attribute;

typedef enum { hipStreamCaptureModeGlobal = 0 } hipStreamCaptureMode;

enum { hipStreamNonBlocking = 1 };

typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphExec *hipGraphExec_t;
typedef struct hipGraphNode *hipGraphNode_t;
typedef void *hipDeviceptr_t;

/* Clocks are in kHz, the bus in bits, the name like "gfx90a:sramecc+:xnack-". What lies between is not used here. */
typedef struct {
    char name[256];
    char unused0[32];
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    char unused1[84];
    int multiProcessorCount;
    char unused2[216];
    int memoryClockRate;
    int memoryBusWidth;
    int l2CacheSize;
    char unused3[540];
    char gcnArchName[256];
    size_t maxSharedMemoryPerMultiProcessor;
    char unused4[48];
} hipDeviceProp_tR0600;

/* Before ROCm 6; later libraries fill it too, under the old name of the function. */
typedef struct {
    char name[256];
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    char unused0[40];
    int memoryClockRate;
    int memoryBusWidth;
    char unused1[16];
    int multiProcessorCount;
    int l2CacheSize;
    char unused2[32];
    size_t maxSharedMemoryPerMultiProcessor;
    char unused3[12];
    char gcnArchName[256];
    char unused4[140];
} hipDeviceProp_tR0000;

hipError_t hipInit(unsigned int flags);
/* 10000000 * major + 100000 * minor + patch. */
hipError_t hipRuntimeGetVersion(int *version);
const char *hipGetErrorName(hipError_t error);
hipError_t hipGetLastError(void);

hipError_t hipGetDeviceCount(int *count);
/* Each thread has a device of its own, at first device 0. */
hipError_t hipGetDevice(int *device);
hipError_t hipSetDevice(int device);
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *properties, int device);
hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000 *properties, int device);
hipError_t hipDeviceSynchronize(void);

hipError_t hipMalloc(void **memory, size_t bytes);
hipError_t hipFree(void *memory);
hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t stream);

hipError_t hipModuleLoadData(hipModule_t *module, const void *image);
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name);
hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute, hipFunction_t function);
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                 unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                 unsigned int dynamic_shared_bytes, hipStream_t stream, void **params, void **extra);

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned int flags);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph);
hipError_t hipGraphInstantiate(hipGraphExec_t *executable, hipGraph_t graph, hipGraphNode_t *error_node, char *log,
                               size_t log_bytes);
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream);
hipError_t hipGraphExecDestroy(hipGraphExec_t executable);
hipError_t hipGraphDestroy(hipGraph_t graph);

hipError_t hipEventCreate(hipEvent_t *event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t begin, hipEvent_t end);
hipError_t hipEventDestroy(hipEvent_t event);

#ifdef __cplusplus
}

#define CT3D_HIP_FIELD(type, field, at) static_assert(offsetof(type, field) == at, "the layout of the runtime")
CT3D_HIP_FIELD(hipDeviceProp_tR0600, totalGlobalMem, 288);
CT3D_HIP_FIELD(hipDeviceProp_tR0600, sharedMemPerBlock, 296);
CT3D_HIP_FIELD(hipDeviceProp_tR0600, multiProcessorCount, 388);
CT3D_HIP_FIELD(hipDeviceProp_tR0600, memoryClockRate, 608);
CT3D_HIP_FIELD(hipDeviceProp_tR0600, memoryBusWidth, 612);
CT3D_HIP_FIELD(hipDeviceProp_tR0600, l2CacheSize, 616);
CT3D_HIP_FIELD(hipDeviceProp_tR0600, gcnArchName, 1160);
CT3D_HIP_FIELD(hipDeviceProp_tR0600, maxSharedMemoryPerMultiProcessor, 1416);
static_assert(sizeof(hipDeviceProp_tR0600) == 1472, "the layout of the runtime");
CT3D_HIP_FIELD(hipDeviceProp_tR0000, totalGlobalMem, 256);
CT3D_HIP_FIELD(hipDeviceProp_tR0000, sharedMemPerBlock, 264);
CT3D_HIP_FIELD(hipDeviceProp_tR0000, memoryClockRate, 312);
CT3D_HIP_FIELD(hipDeviceProp_tR0000, memoryBusWidth, 316);
CT3D_HIP_FIELD(hipDeviceProp_tR0000, multiProcessorCount, 336);
CT3D_HIP_FIELD(hipDeviceProp_tR0000, l2CacheSize, 340);
CT3D_HIP_FIELD(hipDeviceProp_tR0000, maxSharedMemoryPerMultiProcessor, 376);
CT3D_HIP_FIELD(hipDeviceProp_tR0000, gcnArchName, 396);
static_assert(sizeof(hipDeviceProp_tR0000) == 792, "the layout of the runtime");
#undef CT3D_HIP_FIELD
#endif

#endif
