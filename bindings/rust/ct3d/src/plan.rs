// SPDX-License-Identifier: MIT
//! A problem, bound to a kernel on a device.

use crate::error::{check, text, Error, Result};
use crate::{Backend, Dtype, Element, Memory, Operation, PlanOptions, Problem};
use ct3d_sys as sys;
use std::os::raw::{c_char, c_void};
use std::ptr::{self, NonNull};

/// A [`Problem`], checked and bound to a kernel on a device. Making one is slow (up to milliseconds), executing it is
/// not: make it once.
///
/// It is immutable and owns no device memory: threads may share one by reference, each with its own workspace and
/// outputs. It may be dropped as soon as an execute has returned, also while the work is in flight on a device.
#[derive(Debug)]
pub struct Plan {
    raw: NonNull<sys::ct3d_plan>,
    operation: Operation,
    dtype: Dtype,
    has_bias: bool,
    backend: Backend,
    device: u32,
    lengths: Lengths,
}

/// Elements of the tensors and their gradients.
#[derive(Debug)]
struct Lengths {
    x: usize,
    w: usize,
    bias: usize,
    y: usize,
}

// SAFETY: the library's functions may be called from any thread, for a plan that another thread made too.
unsafe impl Send for Plan {}
// SAFETY: a plan is immutable, and may be executed from several threads at once; only its destruction must be alone,
// and drop has the only reference.
unsafe impl Sync for Plan {}

impl Plan {
    /// Makes a plan for the CPU with the default options.
    ///
    /// # Errors
    /// As [`Plan::with_options`].
    pub fn new(problem: &Problem) -> Result<Self> {
        Self::with_options(problem, &PlanOptions::default())
    }

    /// Makes a plan.
    ///
    /// # Errors
    /// [`Status`](crate::Status)`::InvalidArgument` for a problem or an option that is not legal, `Unsupported` if no
    /// kernel takes it, with the reasons, or if there is no such backend; `OutOfMemory`; `DeviceError`.
    pub fn with_options(problem: &Problem, options: &PlanOptions) -> Result<Self> {
        // A problem without an error here is one whose tensors' sizes fit.
        let output_shape = problem.output_shape()?;
        let lengths = Lengths {
            x: problem.input_shape().iter().product(),
            w: problem.weights_shape()?.iter().product(),
            bias: output_shape[1],
            y: output_shape.iter().product(),
        };
        let mut raw = ptr::null_mut();
        // SAFETY: all three pointers are to what the function reads and writes, and it keeps none of them.
        options.with_raw(|options| check(unsafe { sys::ct3d_create_plan(&mut raw, &problem.raw, options) }))??;
        let raw = NonNull::new(raw).expect("a plan that was made is not NULL");
        Ok(Plan {
            raw,
            operation: problem.operation,
            dtype: problem.dtype,
            has_bias: problem.raw.has_bias != 0,
            backend: options.backend,
            device: options.device,
            lengths,
        })
    }

    /// The backend that the plan runs on.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The device that the plan runs on, as an index among those of the backend.
    pub fn device(&self) -> u32 {
        self.device
    }

    /// The bytes of workspace that each execute needs on the plan's device.
    pub fn workspace_size(&self) -> u64 {
        let mut bytes = 0;
        // SAFETY: the plan is alive, and the pointer is to a variable that receives the size.
        let status = unsafe { sys::ct3d_plan_workspace_size(self.raw.as_ptr(), &mut bytes) };
        check(status).expect("a plan has a workspace size");
        bytes
    }

    /// Workspace for one execute at a time, on the plan's device.
    ///
    /// # Errors
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory), or the device failed.
    pub fn new_workspace(&self) -> Result<Memory> {
        Memory::new(self.backend, self.device, self.workspace_size())
    }

    /// Describes the plan for people: shapes, phases, work, the kernel, and why others were not chosen. The text may
    /// change from version to version.
    ///
    /// # Errors
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory).
    pub fn describe(&self) -> Result<String> {
        self.describe_as(sys::CT3D_DESCRIBE_TEXT)
    }

    /// Describes the plan as a JSON object, whose keys are documented in `docs/command-line.md`.
    ///
    /// # Errors
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory).
    pub fn describe_json(&self) -> Result<String> {
        self.describe_as(sys::CT3D_DESCRIBE_JSON)
    }

    fn describe_as(&self, format: i32) -> Result<String> {
        let plan = self.raw.as_ptr();
        let mut needed = 0;
        // SAFETY: the plan is alive; the first call writes no text, the second one no more than there is room for, and
        // terminates it.
        unsafe {
            check(sys::ct3d_describe_plan(plan, format, ptr::null_mut(), 0, &mut needed))?;
            let mut characters: Vec<c_char> = vec![0; needed];
            check(sys::ct3d_describe_plan(plan, format, characters.as_mut_ptr(), needed, ptr::null_mut()))?;
            Ok(text(characters.as_ptr()))
        }
    }

    /// Computes y from x, w and, exactly if the problem has a bias, bias.
    ///
    /// The workspace is from [`Plan::new_workspace`], or any of the CPU's that is large enough.
    ///
    /// # Errors
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument) for a plan of another operation, element type or
    /// backend, and for a slice of another length than the problem's tensor;
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory).
    pub fn forward<T: Element>(
        &self,
        x: &[T],
        w: &[T],
        bias: Option<&[T]>,
        y: &mut [T],
        workspace: &mut Memory,
    ) -> Result<()> {
        self.expect::<T>(Operation::Forward)?;
        if bias.is_some() != self.has_bias {
            let which = if self.has_bias { "missing, the problem has one" } else { "given, the problem has none" };
            return Err(Error::invalid(format!("bias is {}", which)));
        }
        self.execute_on_host(
            sys::ct3d_buffers {
                x: input("x", x, self.lengths.x)?,
                w: input("w", w, self.lengths.w)?,
                bias: bias.map_or(Ok(ptr::null()), |bias| input("bias", bias, self.lengths.bias))?,
                y: output("y", y, self.lengths.y)?,
                ..Default::default()
            },
            workspace,
        )
    }

    /// Computes dx, the gradient of the data, from dy and w.
    ///
    /// # Errors
    /// As [`Plan::forward`].
    pub fn backward_data<T: Element>(&self, dy: &[T], w: &[T], dx: &mut [T], workspace: &mut Memory) -> Result<()> {
        self.expect::<T>(Operation::BackwardData)?;
        self.execute_on_host(
            sys::ct3d_buffers {
                dy: input("dy", dy, self.lengths.y)?,
                w: input("w", w, self.lengths.w)?,
                dx: output("dx", dx, self.lengths.x)?,
                ..Default::default()
            },
            workspace,
        )
    }

    /// Computes dw and dbias, the gradients of weights and bias, from x and dy. One of the two may be `None`.
    ///
    /// # Errors
    /// As [`Plan::forward`].
    pub fn backward_weights<T: Element>(
        &self,
        x: &[T],
        dy: &[T],
        dw: Option<&mut [T]>,
        dbias: Option<&mut [T]>,
        workspace: &mut Memory,
    ) -> Result<()> {
        self.expect::<T>(Operation::BackwardWeights)?;
        self.execute_on_host(
            sys::ct3d_buffers {
                x: input("x", x, self.lengths.x)?,
                dy: input("dy", dy, self.lengths.y)?,
                dw: dw.map_or(Ok(ptr::null_mut()), |dw| output("dw", dw, self.lengths.w))?,
                dbias: dbias.map_or(Ok(ptr::null_mut()), |dbias| output("dbias", dbias, self.lengths.bias))?,
                ..Default::default()
            },
            workspace,
        )
    }

    /// Executes the plan on pointers, in the address space of its device. On a GPU the work is only put on the stream:
    /// there is no allocation, synchronisation or query, so the call may be captured into a graph.
    ///
    /// Start from `ct3d::sys::ct3d_buffers::default()` and set what the operation reads and writes, `workspace`,
    /// `workspace_size` and `stream` (`CUstream` or `hipStream_t`; null is the legacy default stream).
    ///
    /// # Safety
    /// - Each pointer that the operation reads or writes, unless null, is to as many elements of the problem's type
    ///   as the tensor has, in memory of the plan's device; `workspace` is to `workspace_size` bytes there.
    /// - From the call until the work on the stream has ended, all of them stay allocated, nothing else writes to
    ///   what is read, and nothing else reads or writes what is written or is the workspace.
    /// - `stream` is null or a stream of the plan's device.
    /// - `struct_size` is as `default` sets it.
    ///
    /// # Errors
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument) for a buffer that is missing, misaligned,
    /// overlapping or too small; [`Status::DeviceError`](crate::Status::DeviceError).
    pub unsafe fn execute_raw(&self, buffers: &sys::ct3d_buffers) -> Result<()> {
        // SAFETY: the plan is alive; the rest is the caller's promise.
        check(unsafe { sys::ct3d_execute(self.raw.as_ptr(), buffers) })
    }

    fn expect<T: Element>(&self, operation: Operation) -> Result<()> {
        if self.operation != operation {
            return Err(Error::invalid(format!("operation is {:?}, the plan is for {:?}", operation, self.operation)));
        }
        if self.dtype != T::DTYPE {
            return Err(Error::invalid(format!("elements are {:?}, the plan is for {:?}", T::DTYPE, self.dtype)));
        }
        if self.backend != Backend::Cpu {
            return Err(Error::invalid(format!("slices are on the host, the plan is for {:?}", self.backend)));
        }
        Ok(())
    }

    /// The tensors in `buffers` are slices of the lengths of the plan's tensors, borrowed by the caller.
    fn execute_on_host(&self, mut buffers: sys::ct3d_buffers, workspace: &mut Memory) -> Result<()> {
        if workspace.backend() != Backend::Cpu {
            return Err(Error::invalid(format!(
                "workspace is memory of {:?}, the plan is for Cpu",
                workspace.backend()
            )));
        }
        buffers.workspace = workspace.as_ptr();
        buffers.workspace_size = workspace.bytes();
        // SAFETY: lengths were checked, what is written is borrowed exclusively, and the CPU has finished on return.
        unsafe { self.execute_raw(&buffers) }
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        let mut raw = self.raw.as_ptr();
        // SAFETY: the plan is this value's own, and no other call on it runs, since drop has the only reference.
        unsafe { sys::ct3d_destroy_plan(&mut raw) }
    }
}

fn input<T>(name: &str, slice: &[T], elements: usize) -> Result<*const c_void> {
    check_length(name, slice.len(), elements)?;
    Ok(slice.as_ptr().cast())
}

fn output<T>(name: &str, slice: &mut [T], elements: usize) -> Result<*mut c_void> {
    check_length(name, slice.len(), elements)?;
    Ok(slice.as_mut_ptr().cast())
}

fn check_length(name: &str, length: usize, elements: usize) -> Result<()> {
    if length != elements {
        return Err(Error::invalid(format!("{} has {} elements, the problem has {}", name, length, elements)));
    }
    Ok(())
}
