// SPDX-License-Identifier: MIT
//! The 3-D transposed convolution (ConvTranspose3d, deconvolution) and its gradients.
//!
//! Describe the operation in a [`Problem`], make a [`Plan`] from it once, and execute the plan as often as you like:
//!
//! ```
//! # fn main() -> ct3d::Result<()> {
//! // One sample, one channel: each voxel of a 1x2x2 image becomes a 2x2 square.
//! let problem = ct3d::Problem::new(1, 1, [1, 2, 2], [1, 2, 2]).stride([1, 2, 2]).bias(true);
//! let plan = ct3d::Plan::new(&problem)?;
//! let mut workspace = plan.new_workspace()?;
//!
//! let x = [1.0f32, 2.0, 3.0, 4.0];
//! let w = [1.0, 10.0, 100.0, 1000.0];
//! let mut y = vec![0.0; problem.output_shape()?.iter().product()];
//! plan.forward(&x, &w, Some(&[0.5]), &mut y, &mut workspace)?;
//! assert_eq!(y[..4], [1.5, 10.5, 2.5, 20.5]);
//! # Ok(())
//! # }
//! ```
//!
//! # Tensors
//!
//! Tensors are dense slices. Shapes and lengths are in elements, memory is in bytes; of three values the first is for
//! depth, then height, then width. With N samples, Cin and Cout channels and G groups,
//!
//! | tensor | shape | order in memory |
//! |---|---|---|
//! | x, dx | N, Cin, D, H, W: [`Problem::input_shape`] | [`Layout`] |
//! | y, dy | N, Cout, D, H, W: [`Problem::output_shape`] | [`Layout`] |
//! | w, dw | Cin, Cout/G, kD, kH, kW: [`Problem::weights_shape`] | [`WeightsLayout`] |
//! | bias, dbias | Cout | |
//!
//! # Devices
//!
//! The safe methods of a plan take slices, and so need a plan for the CPU. On a GPU, [`Plan::execute_raw`] takes
//! pointers and a stream; [`Memory`] is for callers who have no allocator for the device.
//!
//! # Errors
//!
//! Everything that can fail returns a [`Result`]. The [`Error`] has a [`Status`] and a sentence that names the field
//! and the value; the outputs are untouched then.
//!
//! # Threads
//!
//! A plan is immutable: share one by reference or `Arc` and execute it from several threads at once, each with its own
//! workspace and outputs. Dropping it needs that no other call uses it, which is what ownership says, so [`Plan`] and
//! [`Memory`] are [`Send`] and [`Sync`]. On the CPU a plan uses threads of its own, see [`PlanOptions::threads`].
//!
//! # The library
//!
//! `libct3d.so` is needed when a program is built and when it runs; how it is found is described in `docs/rust.md`.
//! Its environment variables hold here too: `CT3D_VERBOSE` for lines on standard error, `CT3D_KERNEL` to force a
//! kernel.

#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the lengths of tensors are 63-bit numbers, and usize must hold them");

mod backend;
mod element;
mod error;
mod memory;
mod options;
mod plan;
mod problem;

pub use backend::{Backend, BackendInfo, DeviceInfo};
pub use ct3d_sys as sys;
pub use element::{Bf16, Dtype, Element, F16};
pub use error::{Error, Result, Status};
pub use memory::Memory;
pub use options::PlanOptions;
pub use plan::Plan;
pub use problem::{Layout, Math, Operation, Problem, WeightsLayout};

/// Its program is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/rust.md")]
struct Documentation;

/// The version of the library that is running, as "major.minor.patch".
pub fn version() -> String {
    // SAFETY: the function has no preconditions and returns a static string.
    unsafe { error::text(sys::ct3d_version_string()) }
}
