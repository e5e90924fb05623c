// SPDX-License-Identifier: MIT
//! The three operations as sums over all products of the definition, in double precision.

use super::number::Number;
use super::Case;
use ct3d::{Layout, WeightsLayout};

/// Per element its value, the sum of its terms' absolute values, and the number of its products.
pub struct Sums {
    pub value: Vec<f64>,
    magnitude: Vec<f64>,
    products: Vec<f64>,
}

impl Sums {
    fn new(length: usize) -> Self {
        Sums { value: vec![0.0; length], magnitude: vec![0.0; length], products: vec![0.0; length] }
    }

    fn add(&mut self, at: usize, term: f64) {
        self.value[at] += term;
        self.magnitude[at] += term.abs();
    }

    fn add_product(&mut self, at: usize, product: f64) {
        self.add(at, product);
        self.products[at] += 1.0;
    }

    /// The bound of docs/semantics.md, for operands absolutely less than 1.
    pub fn bound<T: Number>(&self, at: usize) -> f64 {
        let n = self.products[at];
        let sum = (n + 2.0) * T::SUM * self.magnitude[at] + n * 2f64.powi(-126);
        (1.0 + T::ROUNDING) * sum + T::ROUNDING * self.value[at].abs() + T::TINY
    }
}

fn activation(layout: Layout, channels: usize, extent: [usize; 3], n: usize, c: usize, at: [usize; 3]) -> usize {
    let [d, h, w] = extent;
    match layout {
        Layout::Ncdhw => (((n * channels + c) * d + at[0]) * h + at[1]) * w + at[2],
        Layout::Ndhwc => (((n * d + at[0]) * h + at[1]) * w + at[2]) * channels + c,
    }
}

fn weight(case: &Case, ci: usize, co: usize, at: [usize; 3]) -> usize {
    let [d, h, w] = case.kernel;
    let channels = case.out_channels / case.groups;
    match case.weights_layout {
        WeightsLayout::Iodhw => (((ci * channels + co) * d + at[0]) * h + at[1]) * w + at[2],
        WeightsLayout::Idhwo => (((ci * d + at[0]) * h + at[1]) * w + at[2]) * channels + co,
    }
}

fn positions(extent: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    let [d, h, w] = extent;
    (0..d).flat_map(move |z| (0..h).flat_map(move |y| (0..w).map(move |x| [z, y, x])))
}

/// Where tap `k` takes input position `i`, if that is inside the output.
fn target(case: &Case, i: [usize; 3], k: [usize; 3]) -> Option<[usize; 3]> {
    let extent = case.output();
    let mut o = [0; 3];
    for a in 0..3 {
        o[a] = (i[a] * case.stride[a] + k[a] * case.dilation[a]).checked_sub(case.pad_begin[a])?;
        if o[a] >= extent[a] {
            return None;
        }
    }
    Some(o)
}

/// Calls `each` with the indices in x, w and y of every product.
fn for_each_product(case: &Case, mut each: impl FnMut(usize, usize, usize)) {
    let (group_in, group_out) = (case.in_channels / case.groups, case.out_channels / case.groups);
    for i in positions(case.input) {
        for k in positions(case.kernel) {
            let o = match target(case, i, k) {
                Some(o) => o,
                None => continue,
            };
            for n in 0..case.batch {
                for ci in 0..case.in_channels {
                    for co in 0..group_out {
                        let channel = ci / group_in * group_out + co;
                        each(
                            activation(case.layout, case.in_channels, case.input, n, ci, i),
                            weight(case, ci, co, k),
                            activation(case.layout, case.out_channels, case.output(), n, channel, o),
                        );
                    }
                }
            }
        }
    }
}

/// Calls `each` with the index in y and the channel of every output.
fn for_each_output(case: &Case, mut each: impl FnMut(usize, usize)) {
    for o in positions(case.output()) {
        for n in 0..case.batch {
            for channel in 0..case.out_channels {
                each(activation(case.layout, case.out_channels, case.output(), n, channel, o), channel);
            }
        }
    }
}

pub fn forward<T: Number>(case: &Case, x: &[T], w: &[T], bias: Option<&[T]>) -> Sums {
    let mut y = Sums::new(case.y_length());
    if let Some(bias) = bias {
        for_each_output(case, |at, channel| y.add(at, bias[channel].value()));
    }
    for_each_product(case, |xi, wi, yi| y.add_product(yi, x[xi].value() * w[wi].value()));
    y
}

pub fn backward_data<T: Number>(case: &Case, dy: &[T], w: &[T]) -> Sums {
    let mut dx = Sums::new(case.x_length());
    for_each_product(case, |xi, wi, yi| dx.add_product(xi, dy[yi].value() * w[wi].value()));
    dx
}

/// dw and dbias.
pub fn backward_weights<T: Number>(case: &Case, x: &[T], dy: &[T]) -> (Sums, Sums) {
    let (mut dw, mut dbias) = (Sums::new(case.w_length()), Sums::new(case.out_channels));
    for_each_product(case, |xi, wi, yi| dw.add_product(wi, x[xi].value() * dy[yi].value()));
    for_each_output(case, |at, channel| dbias.add_product(channel, dy[at].value()));
    (dw, dbias)
}
