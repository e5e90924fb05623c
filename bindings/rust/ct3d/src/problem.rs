// SPDX-License-Identifier: MIT
//! What is to be computed.

use crate::error::{check, Result};
use crate::Dtype;
use ct3d_sys as sys;

/// Which of the operations on x, w, bias and y.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Operation {
    /// [`Plan::forward`](crate::Plan::forward): y from x, w and bias.
    #[default]
    Forward = sys::CT3D_FORWARD,
    /// [`Plan::backward_data`](crate::Plan::backward_data): dx from dy and w.
    BackwardData = sys::CT3D_BACKWARD_DATA,
    /// [`Plan::backward_weights`](crate::Plan::backward_weights): dw and dbias from x and dy.
    BackwardWeights = sys::CT3D_BACKWARD_WEIGHTS,
}

/// Multiplication of `f32`; ignored for other types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Math {
    /// Full `f32` accuracy.
    #[default]
    Fp32 = sys::CT3D_MATH_FP32,
    /// Operands may be rounded to an 11-bit significand; a backend may be more accurate.
    Tf32 = sys::CT3D_MATH_TF32,
}

/// Order of x, y, dx and dy in memory, outermost first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Layout {
    /// Channels before extents.
    #[default]
    Ncdhw = sys::CT3D_NCDHW,
    /// Channels last.
    Ndhwc = sys::CT3D_NDHWC,
}

/// Order of w and dw in memory, outermost first: I is Cin, O is Cout/G.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum WeightsLayout {
    /// PyTorch's order.
    #[default]
    Iodhw = sys::CT3D_IODHW,
    /// Channels last.
    Idhwo = sys::CT3D_IDHWO,
}

/// One transposed convolution, or one of its gradients.
///
/// Per axis, with input extent I, kernel K, stride S, dilation L, padding P at the beginning and Q at the end, and
/// output padding A, the output extent is `O = (I-1)*S - P - Q + L*(K-1) + A + 1`, and
///
/// ```text
/// y[n, co, o] = bias[co] + sum over ci, k of  x[n, ci, i] * w[ci, co, k]     where  i*S - P + k*L = o  on every axis
/// ```
///
/// A group g reads the input channels from g\*Cin/G and writes the output channels from g\*Cout/G on.
///
/// Nothing is checked while a problem is described. [`Problem::output_shape`] and [`Plan::new`](crate::Plan::new)
/// refuse with [`Status::InvalidArgument`](crate::Status::InvalidArgument) what is not legal: stride, dilation,
/// groups, channels, input extents and kernel are at least 1; groups divide both channel counts; an output padding is
/// less than max(stride, dilation); output extents are at least 1; each tensor's size in bytes fits in 63 bits. A
/// batch of 0 is legal.
#[derive(Clone, Debug)]
pub struct Problem {
    pub(crate) operation: Operation,
    pub(crate) dtype: Dtype,
    pub(crate) raw: sys::ct3d_problem,
}

/// A value that does not fit stays illegal: the library refuses the largest value wherever it stands.
fn saturated(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Problem {
    /// A forward problem of one sample in `f32`, with stride 1, dilation 1, one group, no padding and no bias.
    pub fn new(in_channels: usize, out_channels: usize, input: [usize; 3], kernel: [usize; 3]) -> Self {
        let raw = sys::ct3d_problem {
            in_channels: saturated(in_channels),
            out_channels: saturated(out_channels),
            r#in: input.map(saturated),
            kernel: kernel.map(saturated),
            ..Default::default()
        };
        Problem { operation: Operation::default(), dtype: Dtype::default(), raw }
    }

    /// What is computed; forward if not called.
    pub fn operation(mut self, operation: Operation) -> Self {
        self.operation = operation;
        self.raw.op = operation as i32;
        self
    }

    /// The type of all tensors; `f32` if not called.
    pub fn dtype(mut self, dtype: Dtype) -> Self {
        self.dtype = dtype;
        self.raw.dtype = dtype as i32;
        self
    }

    /// How `f32` is multiplied; at full accuracy if not called.
    pub fn math(mut self, math: Math) -> Self {
        self.raw.math = math as i32;
        self
    }

    /// The order of x, y, dx and dy; NCDHW if not called.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.raw.layout = layout as i32;
        self
    }

    /// The order of w and dw; PyTorch's if not called.
    pub fn weights_layout(mut self, layout: WeightsLayout) -> Self {
        self.raw.weights_layout = layout as i32;
        self
    }

    /// Whether a bias is added; ignored by the gradients.
    pub fn bias(mut self, has_bias: bool) -> Self {
        self.raw.has_bias = has_bias.into();
        self
    }

    /// The number of samples.
    pub fn batch(mut self, batch: usize) -> Self {
        self.raw.batch = saturated(batch);
        self
    }

    /// The number of groups.
    pub fn groups(mut self, groups: usize) -> Self {
        self.raw.groups = saturated(groups);
        self
    }

    /// The strides.
    pub fn stride(mut self, stride: [usize; 3]) -> Self {
        self.raw.stride = stride.map(saturated);
        self
    }

    /// The distances between the taps of the kernel.
    pub fn dilation(mut self, dilation: [usize; 3]) -> Self {
        self.raw.dilation = dilation.map(saturated);
        self
    }

    /// Elements cut off both sides of the output.
    pub fn padding(self, padding: [usize; 3]) -> Self {
        self.pad_begin(padding).pad_end(padding)
    }

    /// Elements cut off the output's low sides.
    pub fn pad_begin(mut self, padding: [usize; 3]) -> Self {
        self.raw.pad_begin = padding.map(saturated);
        self
    }

    /// Elements cut off the output's high sides.
    pub fn pad_end(mut self, padding: [usize; 3]) -> Self {
        self.raw.pad_end = padding.map(saturated);
        self
    }

    /// Elements added to the output's high sides.
    pub fn output_padding(mut self, padding: [usize; 3]) -> Self {
        self.raw.output_padding = padding.map(saturated);
        self
    }

    /// The shape of x and dx: N, Cin, D, H, W, in this order for either layout.
    pub fn input_shape(&self) -> [usize; 5] {
        let [d, h, w] = self.raw.r#in;
        [self.raw.batch, self.raw.in_channels, d, h, w].map(|extent| extent as usize)
    }

    /// The shape of y and dy, whatever the operation: N, Cout, D, H, W, in this order for either layout.
    ///
    /// # Errors
    /// The problem is not legal.
    pub fn output_shape(&self) -> Result<[usize; 5]> {
        let mut shape = [0; 5];
        // SAFETY: both pointers are to what the function reads and writes.
        check(unsafe { sys::ct3d_output_shape(&self.raw, shape.as_mut_ptr()) })?;
        Ok(shape.map(|extent| extent as usize))
    }

    /// The shape of w and dw: Cin, Cout/G, kD, kH, kW, in this order for either layout.
    ///
    /// # Errors
    /// The problem is not legal.
    pub fn weights_shape(&self) -> Result<[usize; 5]> {
        let [_, out_channels, ..] = self.output_shape()?;
        let [d, h, w] = self.raw.kernel.map(|extent| extent as usize);
        Ok([self.raw.in_channels as usize, out_channels / self.raw.groups as usize, d, h, w])
    }
}
