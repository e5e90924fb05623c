// SPDX-License-Identifier: MIT
//! How a problem is to be run.

use crate::backend::{index, Backend};
use crate::{Error, Result};
use ct3d_sys as sys;
use std::ffi::CString;
use std::ptr;

/// How a problem is to be run. The defaults leave all to the library: the fastest kernel, on the CPU.
#[derive(Clone, Debug, Default)]
pub struct PlanOptions {
    pub(crate) backend: Backend,
    pub(crate) device: u32,
    threads: u32,
    max_workspace: Option<u64>,
    kernel: Option<String>,
}

impl PlanOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The backend; the CPU if not called.
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// The device's index among those of the backend; 0 if not called.
    pub fn device(mut self, device: u32) -> Self {
        self.device = device;
        self
    }

    /// On the CPU, the most threads that are used; 0, or not called, is all that OpenMP gives. Results are the same bit
    /// for bit at one number of threads.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }

    /// The most bytes of workspace; kernels that need more are passed over. There is no limit if not called.
    pub fn max_workspace(mut self, bytes: u64) -> Self {
        self.max_workspace = Some(bytes);
        self
    }

    /// Runs the kernel of this name and no other.
    pub fn kernel(mut self, name: impl Into<String>) -> Self {
        self.kernel = Some(name.into());
        self
    }

    /// Calls `create` with the library's struct, which points into a string that lives during the call only.
    pub(crate) fn with_raw<T>(&self, create: impl FnOnce(&sys::ct3d_plan_options) -> T) -> Result<T> {
        let kernel = self.kernel.as_deref().map(CString::new).transpose();
        let kernel = kernel.map_err(|_| Error::invalid(format!("kernel is {:?}, a name has no NUL", self.kernel)))?;
        let mut raw = sys::ct3d_plan_options {
            backend: self.backend as i32,
            device: index(self.device),
            threads: i32::try_from(self.threads).unwrap_or(i32::MAX),
            kernel: kernel.as_ref().map_or(ptr::null(), |name| name.as_ptr()),
            ..Default::default()
        };
        if let Some(bytes) = self.max_workspace {
            raw.max_workspace = bytes;
        }
        Ok(create(&raw))
    }
}
