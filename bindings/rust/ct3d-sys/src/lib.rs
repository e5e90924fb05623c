// SPDX-License-Identifier: MIT
//! The C interface of libct3d, name for name; `include/ct3d/ct3d.h` is its reference manual.
//! The crate `ct3d` wraps it safely.
//!
//! The struct types' `Default` is what their `_init` function gives.

#![allow(non_camel_case_types)]

use std::mem::{size_of, MaybeUninit};
use std::os::raw::{c_char, c_void};

/// The header's version, which is this crate's.
pub const CT3D_VERSION_MAJOR: i32 = number(env!("CARGO_PKG_VERSION_MAJOR"));
pub const CT3D_VERSION_MINOR: i32 = number(env!("CARGO_PKG_VERSION_MINOR"));
pub const CT3D_VERSION_PATCH: i32 = number(env!("CARGO_PKG_VERSION_PATCH"));
pub const CT3D_VERSION: i32 = CT3D_VERSION_MAJOR * 10000 + CT3D_VERSION_MINOR * 100 + CT3D_VERSION_PATCH;

const fn number(digits: &str) -> i32 {
    let digits = digits.as_bytes();
    let mut value = 0;
    let mut i = 0;
    while i < digits.len() {
        value = 10 * value + (digits[i] - b'0') as i32;
        i += 1;
    }
    value
}

pub type ct3d_status = i32;
pub const CT3D_SUCCESS: ct3d_status = 0;
pub const CT3D_INVALID_ARGUMENT: ct3d_status = 1;
pub const CT3D_UNSUPPORTED: ct3d_status = 2;
pub const CT3D_OUT_OF_MEMORY: ct3d_status = 3;
pub const CT3D_DEVICE_ERROR: ct3d_status = 4;
pub const CT3D_INTERNAL: ct3d_status = 5;

pub const CT3D_FORWARD: i32 = 0;
pub const CT3D_BACKWARD_DATA: i32 = 1;
pub const CT3D_BACKWARD_WEIGHTS: i32 = 2;

pub const CT3D_DTYPE_DEFAULT: i32 = 0;
pub const CT3D_F32: i32 = 1;
pub const CT3D_F16: i32 = 2;
pub const CT3D_BF16: i32 = 3;
pub const CT3D_F64: i32 = 4;

pub const CT3D_MATH_FP32: i32 = 0;
pub const CT3D_MATH_TF32: i32 = 1;

pub const CT3D_NCDHW: i32 = 0;
pub const CT3D_NDHWC: i32 = 1;

pub const CT3D_IODHW: i32 = 0;
pub const CT3D_IDHWO: i32 = 1;

pub const CT3D_BACKEND_AUTO: i32 = 0;
pub const CT3D_BACKEND_CPU: i32 = 1;
pub const CT3D_BACKEND_CUDA: i32 = 2;
pub const CT3D_BACKEND_HIP: i32 = 3;

pub const CT3D_DESCRIBE_TEXT: i32 = 0;
pub const CT3D_DESCRIBE_JSON: i32 = 1;

pub type ct3d_log_fn = Option<unsafe extern "C" fn(user: *mut c_void, level: i32, message: *const c_char)>;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ct3d_problem {
    pub struct_size: usize,
    pub op: i32,
    pub dtype: i32,
    pub math: i32,
    pub layout: i32,
    pub weights_layout: i32,
    pub has_bias: i32,
    pub batch: i64,
    pub in_channels: i64,
    pub out_channels: i64,
    pub groups: i64,
    pub r#in: [i64; 3],
    pub kernel: [i64; 3],
    pub stride: [i64; 3],
    pub dilation: [i64; 3],
    pub pad_begin: [i64; 3],
    pub pad_end: [i64; 3],
    pub output_padding: [i64; 3],
    pub w_dtype: i32,
    pub y_dtype: i32,
    pub bias_dtype: i32,
    pub y_layout: i32,
    pub y_batch_stride: i64,
    pub y_channel_stride: i64,
    pub packed_weights: i32,
    pub epilogue: i32,
    pub beta: f64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ct3d_plan_options {
    pub struct_size: usize,
    pub backend: i32,
    pub device: i32,
    pub threads: i32,
    pub reserved: i32,
    pub max_workspace: u64,
    pub kernel: *const c_char,
}

/// Known by pointer only.
#[repr(C)]
pub struct ct3d_plan {
    _opaque: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ct3d_buffers {
    pub struct_size: usize,
    pub x: *const c_void,
    pub w: *const c_void,
    pub bias: *const c_void,
    pub y: *mut c_void,
    pub dy: *const c_void,
    pub dx: *mut c_void,
    pub dw: *mut c_void,
    pub dbias: *mut c_void,
    pub workspace: *mut c_void,
    pub workspace_size: u64,
    pub stream: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ct3d_backend_info {
    pub struct_size: usize,
    pub backend: i32,
    pub device_count: i32,
    pub name: [c_char; 32],
    pub version: [c_char; 64],
    pub reason: [c_char; 256],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ct3d_device_info {
    pub struct_size: usize,
    pub backend: i32,
    pub device: i32,
    pub name: [c_char; 128],
    pub arch: [c_char; 64],
    pub compute_units: i32,
    pub reserved: i32,
    pub memory: u64,
    pub last_level_cache: u64,
}

extern "C" {
    pub fn ct3d_version() -> i32;
    pub fn ct3d_version_string() -> *const c_char;
    pub fn ct3d_status_string(status: ct3d_status) -> *const c_char;
    pub fn ct3d_last_error() -> *const c_char;
    pub fn ct3d_set_log_callback(callback: ct3d_log_fn, user: *mut c_void);

    pub fn ct3d_problem_init(problem: *mut ct3d_problem, size: usize);
    pub fn ct3d_output_shape(problem: *const ct3d_problem, shape: *mut i64) -> ct3d_status;

    pub fn ct3d_plan_options_init(options: *mut ct3d_plan_options, size: usize);
    pub fn ct3d_create_plan(
        plan: *mut *mut ct3d_plan,
        problem: *const ct3d_problem,
        options: *const ct3d_plan_options,
    ) -> ct3d_status;
    pub fn ct3d_plan_workspace_size(plan: *const ct3d_plan, bytes: *mut u64) -> ct3d_status;
    pub fn ct3d_plan_device(plan: *const ct3d_plan, backend: *mut i32, device: *mut i32) -> ct3d_status;
    pub fn ct3d_describe_plan(
        plan: *const ct3d_plan,
        format: i32,
        text: *mut c_char,
        capacity: usize,
        needed: *mut usize,
    ) -> ct3d_status;
    pub fn ct3d_destroy_plan(plan: *mut *mut ct3d_plan);

    pub fn ct3d_buffers_init(buffers: *mut ct3d_buffers, size: usize);
    pub fn ct3d_execute(plan: *const ct3d_plan, buffers: *const ct3d_buffers) -> ct3d_status;

    pub fn ct3d_backend_info_init(info: *mut ct3d_backend_info, size: usize);
    pub fn ct3d_get_backend_info(backend: i32, info: *mut ct3d_backend_info) -> ct3d_status;
    pub fn ct3d_device_info_init(info: *mut ct3d_device_info, size: usize);
    pub fn ct3d_get_device_info(backend: i32, device: i32, info: *mut ct3d_device_info) -> ct3d_status;

    pub fn ct3d_alloc(backend: i32, device: i32, bytes: u64, memory: *mut *mut c_void) -> ct3d_status;
    pub fn ct3d_free(backend: i32, device: i32, memory: *mut c_void) -> ct3d_status;
    pub fn ct3d_copy(
        backend: i32,
        device: i32,
        destination: *mut c_void,
        source: *const c_void,
        bytes: u64,
    ) -> ct3d_status;
    pub fn ct3d_synchronize(backend: i32, device: i32) -> ct3d_status;
}

macro_rules! default_by_init {
    ($($name:ident: $init:ident;)*) => {$(
        impl Default for $name {
            fn default() -> Self {
                let mut value = MaybeUninit::<Self>::uninit();
                // SAFETY: _init writes all bytes of the size that it is given, with values of the fields' types.
                unsafe {
                    $init(value.as_mut_ptr(), size_of::<Self>());
                    value.assume_init()
                }
            }
        }
    )*};
}

default_by_init! {
    ct3d_problem: ct3d_problem_init;
    ct3d_plan_options: ct3d_plan_options_init;
    ct3d_buffers: ct3d_buffers_init;
    ct3d_backend_info: ct3d_backend_info_init;
    ct3d_device_info: ct3d_device_info_init;
}
