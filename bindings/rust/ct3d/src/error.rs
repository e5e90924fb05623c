// SPDX-License-Identifier: MIT
//! Failures: a status of the library with its message.

use ct3d_sys as sys;
use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_char;

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// An argument breaks a rule of the documentation.
    InvalidArgument,
    /// Legal, but this backend, device or kernel cannot do it.
    Unsupported,
    /// Host or device memory ran out.
    OutOfMemory,
    /// The device or its driver failed, perhaps in earlier work.
    DeviceError,
    /// A fault of the library.
    Internal,
}

/// A failure; its `Display` is the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    status: Status,
    message: String,
}

/// The result of what can fail here.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn invalid(message: String) -> Self {
        Error { status: Status::InvalidArgument, message }
    }

    /// The kind of failure.
    pub fn status(&self) -> Status {
        self.status
    }

    /// A sentence that names the field and the value.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// To be called right after the function that returned the status, on the same thread.
pub(crate) fn check(status: sys::ct3d_status) -> Result<()> {
    let status = match status {
        sys::CT3D_SUCCESS => return Ok(()),
        sys::CT3D_INVALID_ARGUMENT => Status::InvalidArgument,
        sys::CT3D_UNSUPPORTED => Status::Unsupported,
        sys::CT3D_OUT_OF_MEMORY => Status::OutOfMemory,
        sys::CT3D_DEVICE_ERROR => Status::DeviceError,
        _ => Status::Internal,
    };
    // SAFETY: the function returns a string that lives until the thread's next failing call.
    Err(Error { status, message: unsafe { text(sys::ct3d_last_error()) } })
}

/// # Safety
/// As for [`CStr::from_ptr`].
pub(crate) unsafe fn text(from: *const c_char) -> String {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned()
}
