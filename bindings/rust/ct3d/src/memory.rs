// SPDX-License-Identifier: MIT
//! Memory on a device.

use crate::backend::index;
use crate::error::{check, Error, Result};
use crate::{Backend, Element};
use ct3d_sys as sys;
use std::mem::size_of_val;
use std::os::raw::c_void;
use std::ptr;

/// Memory on a device, aligned to at least 256 bytes, freed when dropped. Its contents are arbitrary at first.
///
/// As workspace of [`Plan::new_workspace`](crate::Plan::new_workspace) it serves one execute at a time, which the safe
/// methods ensure by `&mut`; plans may share one that is large enough for each.
#[derive(Debug)]
pub struct Memory {
    data: *mut c_void,
    bytes: u64,
    backend: Backend,
    device: u32,
}

// SAFETY: the value owns its memory, and the library's functions on it may be called from any thread.
unsafe impl Send for Memory {}
// SAFETY: safe methods that take &self only read the memory, and may do so at the same time.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates memory on a device of a backend.
    ///
    /// # Errors
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory), or there is no such device.
    pub fn new(backend: Backend, device: u32, bytes: u64) -> Result<Self> {
        let mut data = ptr::null_mut();
        // SAFETY: the pointer is to a variable that receives the memory.
        check(unsafe { sys::ct3d_alloc(backend as i32, index(device), bytes, &mut data) })?;
        Ok(Memory { data, bytes, backend, device })
    }

    /// The memory's address, for [`Plan::execute_raw`](crate::Plan::execute_raw); null if it has no bytes.
    pub fn as_ptr(&self) -> *mut c_void {
        self.data
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The backend whose memory this is.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Copies from the host to the beginning of the memory, and waits for the end.
    ///
    /// # Errors
    /// The slice has more bytes than the memory, or the device failed.
    pub fn copy_from_slice<T: Element>(&mut self, source: &[T]) -> Result<()> {
        let bytes = self.room_for(source)?;
        // SAFETY: both places have that many bytes, and they are apart, since the memory is this value's own.
        check(unsafe {
            sys::ct3d_copy(self.backend as i32, index(self.device), self.data, source.as_ptr().cast(), bytes)
        })
    }

    /// Copies from the beginning of the memory to the host, and waits for the end.
    ///
    /// # Errors
    /// The slice has more bytes than the memory, or the device failed.
    pub fn copy_to_slice<T: Element>(&self, destination: &mut [T]) -> Result<()> {
        let bytes = self.room_for(destination)?;
        // SAFETY: as above, and any bytes are values of an element.
        check(unsafe {
            sys::ct3d_copy(self.backend as i32, index(self.device), destination.as_mut_ptr().cast(), self.data, bytes)
        })
    }

    fn room_for<T: Element>(&self, slice: &[T]) -> Result<u64> {
        let bytes = size_of_val(slice) as u64;
        if bytes > self.bytes {
            return Err(Error::invalid(format!("the slice has {} bytes, the memory has {}", bytes, self.bytes)));
        }
        Ok(bytes)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the memory is from ct3d_alloc on the same device, and nothing uses it any more. Drop cannot fail.
        let _ = unsafe { sys::ct3d_free(self.backend as i32, index(self.device), self.data) };
    }
}
