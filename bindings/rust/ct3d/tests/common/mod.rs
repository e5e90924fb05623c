// SPDX-License-Identifier: MIT
//! Small problems, numbers to fill them with, and what each operation must give, by the definition.

#![allow(dead_code)] // each suite uses a part

pub mod number;
pub mod reference;

use ct3d::{Element, Layout, Operation, Problem, WeightsLayout};
use number::Number;
use reference::Sums;

#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub batch: usize,
    pub in_channels: usize,
    pub out_channels: usize,
    pub groups: usize,
    pub input: [usize; 3],
    pub kernel: [usize; 3],
    pub stride: [usize; 3],
    pub dilation: [usize; 3],
    pub pad_begin: [usize; 3],
    pub pad_end: [usize; 3],
    pub output_padding: [usize; 3],
    pub layout: Layout,
    pub weights_layout: WeightsLayout,
}

const PLAIN: Case = Case {
    batch: 2,
    in_channels: 3,
    out_channels: 5,
    groups: 1,
    input: [3, 4, 5],
    kernel: [3; 3],
    stride: [1; 3],
    dilation: [1; 3],
    pad_begin: [0; 3],
    pad_end: [0; 3],
    output_padding: [0; 3],
    layout: Layout::Ncdhw,
    weights_layout: WeightsLayout::Iodhw,
};

/// The headline case's kernel, stride, padding and dilation, small.
pub const HEADLINE: Case = Case {
    in_channels: 8,
    out_channels: 16,
    stride: [2; 3],
    dilation: [2; 3],
    pad_begin: [1; 3],
    pad_end: [1; 3],
    ..PLAIN
};

const SHAPES: [Case; 6] = [
    PLAIN,
    HEADLINE,
    Case { kernel: [2; 3], stride: [2; 3], in_channels: 16, out_channels: 8, ..PLAIN },
    Case { stride: [2; 3], pad_begin: [1; 3], pad_end: [1; 3], output_padding: [1; 3], ..PLAIN },
    Case {
        in_channels: 4,
        out_channels: 6,
        groups: 2,
        kernel: [1, 2, 3],
        stride: [3, 1, 2],
        dilation: [1, 2, 3],
        pad_begin: [0, 2, 1],
        pad_end: [1, 0, 4],
        output_padding: [2, 1, 0],
        ..PLAIN
    },
    Case { in_channels: 6, out_channels: 6, groups: 6, kernel: [4; 3], stride: [2; 3], pad_begin: [1; 3], ..PLAIN },
];

/// All shapes in all layouts.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in SHAPES {
        for layout in [Layout::Ncdhw, Layout::Ndhwc] {
            for weights_layout in [WeightsLayout::Iodhw, WeightsLayout::Idhwo] {
                cases.push(Case { layout, weights_layout, ..shape });
            }
        }
    }
    cases
}

impl Case {
    pub fn problem<T: Element>(&self, operation: Operation) -> Problem {
        Problem::new(self.in_channels, self.out_channels, self.input, self.kernel)
            .operation(operation)
            .dtype(T::DTYPE)
            .layout(self.layout)
            .weights_layout(self.weights_layout)
            .batch(self.batch)
            .groups(self.groups)
            .stride(self.stride)
            .dilation(self.dilation)
            .pad_begin(self.pad_begin)
            .pad_end(self.pad_end)
            .output_padding(self.output_padding)
    }

    pub fn output(&self) -> [usize; 3] {
        [0, 1, 2].map(|a| {
            (self.input[a] - 1) * self.stride[a] + self.dilation[a] * (self.kernel[a] - 1) + self.output_padding[a] + 1
                - self.pad_begin[a]
                - self.pad_end[a]
        })
    }

    pub fn x_length(&self) -> usize {
        self.batch * self.in_channels * self.input.iter().product::<usize>()
    }

    pub fn w_length(&self) -> usize {
        self.in_channels * self.out_channels / self.groups * self.kernel.iter().product::<usize>()
    }

    pub fn y_length(&self) -> usize {
        self.batch * self.out_channels * self.output().iter().product::<usize>()
    }
}

/// An output between guards, all of it NaN before.
pub struct Output<T> {
    memory: Vec<T>,
}

const GUARD: usize = 16;

impl<T: Number> Output<T> {
    pub fn new(length: usize) -> Self {
        Output { memory: vec![T::NAN; length + 2 * GUARD] }
    }

    pub fn slice(&mut self) -> &mut [T] {
        let end = self.memory.len() - GUARD;
        &mut self.memory[GUARD..end]
    }

    /// Each element is within the contract's bound of what it should be, and the guards are as they were.
    pub fn assert_is(&mut self, expected: &Sums, case: &Case) {
        for (i, &got) in self.slice().iter().enumerate() {
            let (error, bound) = ((got.value() - expected.value[i]).abs(), expected.bound::<T>(i));
            assert!(error <= bound, "{:?}: {}: {:?}, not {}", case, i, got, expected.value[i]);
        }
        let end = self.memory.len() - GUARD;
        for guard in self.memory[..GUARD].iter().chain(&self.memory[end..]) {
            assert!(guard.value().is_nan(), "{:?}: written outside of the output", case);
        }
    }
}
