// SPDX-License-Identifier: MIT
//! Element types.

use ct3d_sys as sys;

/// The type of all tensors of a problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Dtype {
    /// `f32`
    #[default]
    F32 = sys::CT3D_F32,
    /// [`F16`]
    F16 = sys::CT3D_F16,
    /// [`Bf16`]
    Bf16 = sys::CT3D_BF16,
    /// `f64`
    F64 = sys::CT3D_F64,
}

/// A type that tensors may have: `f32`, `f64`, [`F16`] and [`Bf16`].
pub trait Element: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The type's name in a [`Problem`](crate::Problem).
    const DTYPE: Dtype;
}

/// All values of the implementors' bytes are legal: the library writes tensors as bytes.
mod sealed {
    pub trait Sealed {}
}

macro_rules! element {
    ($type:ty, $dtype:ident) => {
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: Dtype = Dtype::$dtype;
        }
    };
}

element!(f32, F32);
element!(f64, F64);
element!(F16, F16);
element!(Bf16, Bf16);

macro_rules! bit_pattern {
    ($name:ident, $about:literal) => {
        #[doc = $about]
        ///
        /// It holds the bits and does no arithmetic. Slices of `u16` are taken as they are, so that any crate's type
        /// for such numbers can be used through its view as `u16`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u16);

        impl $name {
            /// The same memory, read as numbers.
            pub fn from_bits(bits: &[u16]) -> &[Self] {
                // SAFETY: the type is transparent over u16, and the lifetime is kept.
                unsafe { &*(bits as *const [u16] as *const [Self]) }
            }

            /// The same memory, read and written as numbers.
            pub fn from_bits_mut(bits: &mut [u16]) -> &mut [Self] {
                // SAFETY: the type is transparent over u16, and the exclusive borrow is kept.
                unsafe { &mut *(bits as *mut [u16] as *mut [Self]) }
            }
        }
    };
}

bit_pattern!(F16, "A number of IEEE 754 binary16: 1 sign bit, 5 exponent bits, 10 significand bits.");
bit_pattern!(Bf16, "A number of bfloat16: 1 sign bit, 8 exponent bits, 7 significand bits.");
