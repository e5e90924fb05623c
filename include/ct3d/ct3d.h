/* SPDX-License-Identifier: MIT */
#ifndef CT3D_CT3D_H
#define CT3D_CT3D_H

/** @file ct3d.h
 *  ct3d: the 3-D transposed convolution (ConvTranspose3d, deconvolution) and its gradients.
 *
 *  Use
 *  ---
 *  Describe the operation in a ct3d_problem, make a ct3d_plan from it once, and execute the plan on
 *  buffers as often as you like:
 *
 *      ct3d_problem p;
 *      ct3d_problem_init(&p, sizeof p);
 *      ...fill p...
 *      ct3d_plan *plan = NULL;
 *      if (ct3d_create_plan(&plan, &p, NULL) != CT3D_SUCCESS)
 *          puts(ct3d_last_error());
 *      ct3d_execute(plan, &buffers);
 *      ct3d_destroy_plan(&plan);
 *
 *  A complete program stands in tests/example.c and is compiled and run as a test.
 *
 *  The operation
 *  -------------
 *  Per axis (0 depth, 1 height, 2 width), with the input extent I, kernel K, stride S, dilation L, padding P
 *  (pad_begin) and Q (pad_end), and output padding A, the output extent is
 *
 *      O = (I-1)*S - P - Q + L*(K-1) + A + 1
 *
 *      y[n, co, o] = bias[co] + sum over ci, k of  x[n, ci, i] * w[ci, co, k]   where i*S - P + k*L = o on each axis
 *
 *  which is the gradient of a convolution with respect to its input, as in PyTorch's ConvTranspose3d and
 *  ONNX's ConvTranspose. A group g reads the input channels [g*Cin/G, (g+1)*Cin/G) and writes the output
 *  channels [g*Cout/G, (g+1)*Cout/G).
 *
 *  Tensors are dense. Extents, shapes and counts are in elements, sizes in bytes. x and dx have the shape
 *  (batch, in_channels, in[0], in[1], in[2]); y and dy have the shape that ct3d_output_shape() tells; w and dw
 *  have the PyTorch shape (in_channels, out_channels/groups, kernel[0], kernel[1], kernel[2]); bias and dbias have
 *  out_channels elements. `layout` and `weights_layout` say in which order the elements lie in memory.
 *
 *  Arithmetic
 *  ----------
 *  f32 means f32: TF32 is used only where `math` permits it. f16 and bf16 are multiplied exactly, summed in f32
 *  and rounded once. docs/semantics.md states the error bound of each dtype. Results are the same, bit for bit,
 *  from run to run (on the CPU: at one thread count), and one sample's result does not depend on another's.
 *  A non-finite x makes the outputs whose taps read it non-finite, and no others. A non-finite weight may also
 *  reach outputs at a border where its tap falls outside the input.
 *
 *  Errors
 *  ------
 *  Functions that can fail return a ct3d_status. On any status but CT3D_SUCCESS the outputs are untouched and
 *  ct3d_last_error() holds a sentence for the calling thread that names the field and the value. No function
 *  aborts, and none throws.
 *
 *  Threads
 *  -------
 *  All functions may be called from any thread. A plan is immutable: one plan may be executed from several
 *  threads at once, each with its own workspace and outputs. Only ct3d_destroy_plan() must not run at the same
 *  time as another call on that plan. After fork() only the CPU backend works in the child, with one thread
 *  whatever the plan says. Inside an OpenMP parallel region of the caller, make plans with one thread: a plan for more
 *  runs there too, but a kernel of oneDNN gives way to a slower one.
 *
 *  ABI
 *  ---
 *  Enum values and statuses are int32_t with the values below, which never change; 0 is the default of each.
 *  Structs begin with `struct_size`, are filled by their _init function and grow only at the tail. A program
 *  compiled against an older header works with a newer library; one compiled against a newer header works with an
 *  older library as long as the fields that the library does not know are zero. */

#include <stddef.h>
#include <stdint.h>

#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CT3D_API __attribute__((visibility("default")))

/* ------------------------------------------------------------------------------------------------ values */

/** What a function says of its success. */
typedef int32_t ct3d_status;
enum {
    CT3D_SUCCESS = 0,
    CT3D_INVALID_ARGUMENT = 1, /**< an argument or field breaks a rule of this header */
    CT3D_UNSUPPORTED = 2,      /**< legal, but this backend, device or kernel cannot do it */
    CT3D_OUT_OF_MEMORY = 3,    /**< host or device memory ran out */
    CT3D_DEVICE_ERROR = 4,     /**< the device or its driver failed, perhaps in earlier work (a sticky error) */
    CT3D_INTERNAL = 5          /**< a fault of this library */
};

/** Operation: what is read and what is written. Buffers that are not named are ignored. */
enum {
    CT3D_FORWARD = 0,         /**< reads x, w and, exactly if `has_bias`, bias; writes y */
    CT3D_BACKWARD_DATA = 1,   /**< reads dy, w; writes dx */
    CT3D_BACKWARD_WEIGHTS = 2 /**< reads x, dy; writes dw, dbias or both (a NULL one is left out) */
};

/** Element type. */
enum {
    CT3D_DTYPE_DEFAULT = 0, /**< f32 in `dtype`; elsewhere the same as `dtype` */
    CT3D_F32 = 1,
    CT3D_F16 = 2,
    CT3D_BF16 = 3,
    CT3D_F64 = 4
};

/** Multiplication of f32; ignored for other types. */
enum {
    CT3D_MATH_FP32 = 0, /**< full f32 accuracy */
    CT3D_MATH_TF32 = 1  /**< operands may be rounded to an 11-bit significand; a backend may be more accurate */
};

/** Order of activations (x, y, dx, dy) in memory, outermost first. */
enum { CT3D_NCDHW = 0, CT3D_NDHWC = 1 /**< channels last */ };

/** Order of weights (w, dw) in memory, outermost first: I is in_channels, O is out_channels/groups. */
enum { CT3D_IODHW = 0, CT3D_IDHWO = 1 /**< channels last */ };

/** Backend. */
enum { CT3D_BACKEND_AUTO = 0 /**< the CPU */, CT3D_BACKEND_CPU = 1, CT3D_BACKEND_CUDA = 2, CT3D_BACKEND_HIP = 3 };

/** Format of ct3d_describe_plan(). */
enum { CT3D_DESCRIBE_TEXT = 0, CT3D_DESCRIBE_JSON = 1 };

/* ----------------------------------------------------------------------------------------------- version */

/** @return CT3D_VERSION of the library that is running. */
CT3D_API int32_t ct3d_version(void);

/** @return the version as "major.minor.patch", a static string. */
CT3D_API const char *ct3d_version_string(void);

/* ------------------------------------------------------------------------------------- errors and logging */

/** @return the name of a status, such as "CT3D_INVALID_ARGUMENT", or "unknown status"; a static string, never NULL. */
CT3D_API const char *ct3d_status_string(ct3d_status status);

/** The message of the last call that failed on the calling thread.
 *  @return a string owned by the library, valid until the next failing call on this thread; "" if none failed. */
CT3D_API const char *ct3d_last_error(void);

/** Receives log lines. `level` is 1 for a line per plan, 2 for a line per execute; `message` has no newline and
 *  lives only during the call. It may be called from several threads at once, and must not call ct3d. */
typedef void (*ct3d_log_fn)(void *user, int32_t level, const char *message);

/** Sends log lines to `fn` with `user`; NULL restores the default, which is standard error.
 *  The environment variable CT3D_VERBOSE (1 or 2, read once) says up to which level lines are made; with a callback
 *  set and no CT3D_VERBOSE, the level is 1. */
CT3D_API void ct3d_set_log_callback(ct3d_log_fn fn, void *user);

/* ----------------------------------------------------------------------------------------------- problem */

/** One transposed convolution, or one of its gradients. Arrays are depth, height, width.
 *  Legal: stride, dilation, groups, in_channels, out_channels, in, kernel >= 1; batch, pad_begin, pad_end >= 0;
 *  groups divides both channel counts; 0 <= output_padding < max(stride, dilation); the output extents are >= 1;
 *  each tensor's size in bytes fits in int64_t. A batch of 0 is an empty problem, which succeeds. */
typedef struct ct3d_problem {
    size_t struct_size; /**< set by ct3d_problem_init() */
    int32_t op;         /**< CT3D_FORWARD (default), CT3D_BACKWARD_DATA, CT3D_BACKWARD_WEIGHTS */
    int32_t dtype;      /**< CT3D_F32 (default), CT3D_F16, CT3D_BF16, CT3D_F64 */
    int32_t math;       /**< CT3D_MATH_FP32 (default), CT3D_MATH_TF32 */
    int32_t layout;     /**< CT3D_NCDHW (default), CT3D_NDHWC */
    int32_t weights_layout; /**< CT3D_IODHW (default), CT3D_IDHWO */
    int32_t has_bias;       /**< 1 if FORWARD adds a bias, 0 (default) if not; ignored by the gradients */
    int64_t batch;          /**< N, default 1 */
    int64_t in_channels;    /**< Cin, all groups together */
    int64_t out_channels;   /**< Cout, all groups together */
    int64_t groups;         /**< G, default 1 */
    int64_t in[3];          /**< extents of x and dx */
    int64_t kernel[3];
    int64_t stride[3];         /**< default 1 */
    int64_t dilation[3];       /**< default 1 */
    int64_t pad_begin[3];      /**< elements cut off the output's low side, default 0 */
    int64_t pad_end[3];        /**< elements cut off the output's high side, default 0; PyTorch's padding sets both */
    int64_t output_padding[3]; /**< elements added to the output's high side, default 0 */

    /* Reserved for later versions: each must be 0. */
    int32_t w_dtype;
    int32_t y_dtype;
    int32_t bias_dtype;
    int32_t y_layout;
    int64_t y_batch_stride;
    int64_t y_channel_stride;
    int32_t packed_weights;
    int32_t epilogue;
    double beta;
} ct3d_problem;

/** Fills a problem with the defaults named above.
 *  @param size sizeof(ct3d_problem) as the caller was compiled; no byte past it is written. */
CT3D_API void ct3d_problem_init(ct3d_problem *problem, size_t size);

/** Tells the shape of y, whatever the op.
 *  @param shape receives N, C, D, H, W, in this order for either layout.
 *  @return CT3D_INVALID_ARGUMENT if the problem is not legal. */
CT3D_API ct3d_status ct3d_output_shape(const ct3d_problem *problem, int64_t shape[5]);

/* -------------------------------------------------------------------------------------------------- plan */

/** How a problem is to be run. */
typedef struct ct3d_plan_options {
    size_t struct_size;
    int32_t backend;        /**< CT3D_BACKEND_AUTO (default) is the CPU */
    int32_t device;         /**< index among the backend's devices, default 0 */
    int32_t threads;        /**< CPU: the most threads used, cut to the processors there are; 0 (default) is
                                 OpenMP's maximum on the calling thread, or 1 inside a parallel region */
    int32_t reserved;       /**< must be 0 */
    uint64_t max_workspace; /**< bytes; kernels that need more are passed over; default UINT64_MAX */
    const char *kernel;     /**< run this kernel and no other; NULL (default) or "": the environment variable
                                 CT3D_KERNEL, or else the fastest. Read only while the plan is made. */
} ct3d_plan_options;

/** Fills options with the defaults named above; `size` as in ct3d_problem_init(). */
CT3D_API void ct3d_plan_options_init(ct3d_plan_options *options, size_t size);

/** A problem, checked and bound to a kernel on a device. It owns no device memory. */
typedef struct ct3d_plan ct3d_plan;

/** Makes a plan. This is the slow call (up to milliseconds): make a plan once, execute it often.
 *  @param plan    receives the plan, owned by the caller until ct3d_destroy_plan(); NULL on failure.
 *  @param problem read during the call only.
 *  @param options read during the call only; NULL means defaults.
 *  @return CT3D_INVALID_ARGUMENT for an illegal problem or option, CT3D_UNSUPPORTED if no kernel (or not the
 *  forced one) takes it: ct3d_last_error() has the reasons; CT3D_OUT_OF_MEMORY, CT3D_DEVICE_ERROR. */
CT3D_API ct3d_status ct3d_create_plan(ct3d_plan **plan, const ct3d_problem *problem, const ct3d_plan_options *options);

/** Tells how many bytes of workspace each execute needs on the plan's device; 0 where none. */
CT3D_API ct3d_status ct3d_plan_workspace_size(const ct3d_plan *plan, uint64_t *bytes);

/** Tells where the plan runs. Either pointer may be NULL. */
CT3D_API ct3d_status ct3d_plan_device(const ct3d_plan *plan, int32_t *backend, int32_t *device);

/** Describes a plan: shapes, phases, share of outputs that are only bias, FLOP, bytes, the kernel and why others
 *  were not chosen.
 *  @param format   CT3D_DESCRIBE_TEXT, for people, may change; CT3D_DESCRIBE_JSON, one object, documented in
 *                  docs/command-line.md, keys are only ever added.
 *  @param text     receives at most `capacity` bytes, always terminated if capacity > 0; may be NULL if
 *                  capacity is 0.
 *  @param needed   receives the bytes for the whole text with its terminator; may be NULL. A text that is cut
 *                  short is not an error: compare `needed` with `capacity`. */
CT3D_API ct3d_status ct3d_describe_plan(const ct3d_plan *plan, int32_t format, char *text, size_t capacity,
                                        size_t *needed);

/** Destroys a plan and nulls the pointer; NULL and a pointer to NULL are fine. Legal as soon as execute has
 *  returned, also while the work is still in flight on a device or captured in a graph. */
CT3D_API void ct3d_destroy_plan(ct3d_plan **plan);

/* ----------------------------------------------------------------------------------------------- execute */

/** The memory of one execute, in the address space of the plan's device. Tensors are aligned to their element;
 *  the workspace to 256 bytes. No two of them overlap. Pointers to tensors without elements may be NULL. */
typedef struct ct3d_buffers {
    size_t struct_size;
    const void *x;
    const void *w;
    const void *bias;
    void *y;
    const void *dy;
    void *dx;
    void *dw;
    void *dbias;
    void *workspace;         /**< scratch memory, contents neither read before nor kept after; may be NULL if
                                  the plan needs none */
    uint64_t workspace_size; /**< bytes, at least ct3d_plan_workspace_size() */
    void *stream;            /**< CUstream, hipStream_t; NULL is the legacy default stream; ignored by the CPU */
} ct3d_buffers;

/** Sets all pointers to NULL and the workspace size to 0; `size` as in ct3d_problem_init(). */
CT3D_API void ct3d_buffers_init(ct3d_buffers *buffers, size_t size);

/** Runs the plan. On the CPU the result is there on return. On a GPU the work is only put on the stream: there is no
 *  allocation, synchronisation or query, so the call may be captured into a graph.
 *  @return CT3D_INVALID_ARGUMENT for a buffer that is missing, misaligned, overlapping or too small. */
CT3D_API ct3d_status ct3d_execute(const ct3d_plan *plan, const ct3d_buffers *buffers);

/* --------------------------------------------------------------------------------------------- inspection */

/** A backend of this library. Strings are always terminated. */
typedef struct ct3d_backend_info {
    size_t struct_size;
    int32_t backend;
    int32_t device_count; /**< 0 if the backend cannot be used */
    char name[32];        /**< "cpu", "cuda", "hip" */
    char version[64];     /**< of the library or driver behind it; "" if there is none */
    char reason[256];     /**< why there is no device; "" if there is one */
} ct3d_backend_info;

CT3D_API void ct3d_backend_info_init(ct3d_backend_info *info, size_t size);

/** Tells of a backend (CT3D_BACKEND_CPU and so on; AUTO tells of the CPU). A backend without devices, or one that
 *  was not built, is a success with device_count 0 and a reason. */
CT3D_API ct3d_status ct3d_get_backend_info(int32_t backend, ct3d_backend_info *info);

/** A device of a backend. */
typedef struct ct3d_device_info {
    size_t struct_size;
    int32_t backend;
    int32_t device;
    char name[128];
    char arch[64];             /**< instruction set: "avx512", "sm_90", "gfx942" */
    int32_t compute_units;     /**< CPU: threads that OpenMP would use; GPU: multiprocessors */
    int32_t reserved;
    uint64_t memory;           /**< bytes */
    uint64_t last_level_cache; /**< bytes; 0 if not known */
} ct3d_device_info;

CT3D_API void ct3d_device_info_init(ct3d_device_info *info, size_t size);

/** Tells of a device. @return CT3D_UNSUPPORTED if the backend has no device, CT3D_INVALID_ARGUMENT if not this one. */
CT3D_API ct3d_status ct3d_get_device_info(int32_t backend, int32_t device, ct3d_device_info *info);

/* ------------------------------------------------------------------------------------------------ memory */

/** Allocates memory on a device, aligned to at least 256 bytes, for callers who have no allocator of their own.
 *  @param memory receives it (NULL for 0 bytes and on failure), owned by the caller until ct3d_free(). */
CT3D_API ct3d_status ct3d_alloc(int32_t backend, int32_t device, uint64_t bytes, void **memory);

/** Frees memory from ct3d_alloc() on the same device; NULL is fine. */
CT3D_API ct3d_status ct3d_free(int32_t backend, int32_t device, void *memory);

/** Copies between host and device, either way, or within either, and waits for the end. */
CT3D_API ct3d_status ct3d_copy(int32_t backend, int32_t device, void *destination, const void *source, uint64_t bytes);

/** Waits for all work of this process on a device. */
CT3D_API ct3d_status ct3d_synchronize(int32_t backend, int32_t device);

#ifdef __cplusplus
}
#endif

#endif
