// SPDX-License-Identifier: MIT
//! Backends and their devices.

use crate::error::{check, text, Result};
use ct3d_sys as sys;

/// Where a plan runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Backend {
    /// The CPU.
    #[default]
    Cpu = sys::CT3D_BACKEND_CPU,
    /// NVIDIA GPUs.
    Cuda = sys::CT3D_BACKEND_CUDA,
    /// AMD GPUs.
    Hip = sys::CT3D_BACKEND_HIP,
}

/// What there is of a backend.
#[derive(Clone, Debug)]
pub struct BackendInfo {
    /// "cpu", "cuda" or "hip".
    pub name: String,
    /// Of the library or driver behind it; empty if there is none.
    pub version: String,
    /// 0 if the backend cannot be used.
    pub device_count: u32,
    /// Why there is no device; empty if there is one.
    pub reason: String,
}

/// A device of a backend.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// The name that its maker gives it.
    pub name: String,
    /// The instruction set: "avx512", "sm_90", "gfx942".
    pub arch: String,
    /// On the CPU the threads that OpenMP would use, on a GPU its multiprocessors.
    pub compute_units: u32,
    /// Bytes.
    pub memory: u64,
    /// Bytes; 0 if not known.
    pub last_level_cache: u64,
}

impl Backend {
    /// Tells of the backend. One without devices, or one that the library was built without, has a device count of 0
    /// and a reason.
    ///
    /// # Errors
    /// The library is too old to know the backend.
    pub fn info(self) -> Result<BackendInfo> {
        let mut raw = sys::ct3d_backend_info::default();
        // SAFETY: the struct is initialised; the function fills it and ends its strings.
        unsafe {
            check(sys::ct3d_get_backend_info(self as i32, &mut raw))?;
            Ok(BackendInfo {
                name: text(raw.name.as_ptr()),
                version: text(raw.version.as_ptr()),
                device_count: raw.device_count as u32,
                reason: text(raw.reason.as_ptr()),
            })
        }
    }

    /// Tells of one of the backend's devices.
    ///
    /// # Errors
    /// [`Status::Unsupported`](crate::Status::Unsupported) if the backend has no device,
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument) if not this one.
    pub fn device_info(self, device: u32) -> Result<DeviceInfo> {
        let mut raw = sys::ct3d_device_info::default();
        // SAFETY: the struct is initialised; the function fills it and ends its strings.
        unsafe {
            check(sys::ct3d_get_device_info(self as i32, index(device), &mut raw))?;
            Ok(DeviceInfo {
                name: text(raw.name.as_ptr()),
                arch: text(raw.arch.as_ptr()),
                compute_units: raw.compute_units as u32,
                memory: raw.memory,
                last_level_cache: raw.last_level_cache,
            })
        }
    }

    /// Waits for all work of this process on a device.
    ///
    /// # Errors
    /// There is no such device, or it failed, perhaps in earlier work.
    pub fn synchronize(self, device: u32) -> Result<()> {
        // SAFETY: the function has no preconditions.
        check(unsafe { sys::ct3d_synchronize(self as i32, index(device)) })
    }
}

/// The library's index of a device; one past its range names no device there either.
pub(crate) fn index(device: u32) -> i32 {
    i32::try_from(device).unwrap_or(i32::MAX)
}
