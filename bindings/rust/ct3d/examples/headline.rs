// SPDX-License-Identifier: MIT
//! Runs the case kb1-77 of tests/cases/suite.txt on the CPU, checks outputs by the definition, and prints time and
//! error.
//!
//!     cargo run --release --example headline

use ct3d::{Plan, Problem};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const BATCH: usize = 16;
const IN_CHANNELS: usize = 32;
const OUT_CHANNELS: usize = 64;
const INPUT: [usize; 3] = [16, 32, 32];
const KERNEL: usize = 3;
const STRIDE: usize = 2;
const PADDING: usize = 1;
const DILATION: usize = 2;

const RUNS: usize = 5;
const CHECKED: usize = 10_000;

/// Numbers in (-1, 1) of 24 bits, from the generator splitmix64.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        z ^ (z >> 31)
    }

    fn fill(&mut self, length: usize) -> Vec<f32> {
        (0..length).map(|_| (self.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect()
    }
}

/// The tap and the input coordinate of each product that an output coordinate sums on one axis.
fn taps(output: usize, input_extent: usize) -> Vec<(usize, usize)> {
    (0..KERNEL)
        .filter_map(|k| (output + PADDING).checked_sub(k * DILATION).map(|place| (k, place)))
        .filter(|(_, place)| place % STRIDE == 0 && place / STRIDE < input_extent)
        .map(|(k, place)| (k, place / STRIDE))
        .collect()
}

/// The error of an output over the bound that docs/semantics.md gives for f32.
fn error_over_bound(got: f32, x: &[f32], w: &[f32], bias: &[f32], [n, co, oz, oy, ox]: [usize; 5]) -> f64 {
    let (mut value, mut magnitude, mut products) = (f64::from(bias[co]), f64::from(bias[co].abs()), 0.0);
    for ci in 0..IN_CHANNELS {
        for &(kz, z) in &taps(oz, INPUT[0]) {
            for &(ky, y) in &taps(oy, INPUT[1]) {
                for &(kx, column) in &taps(ox, INPUT[2]) {
                    let at_x = (((n * IN_CHANNELS + ci) * INPUT[0] + z) * INPUT[1] + y) * INPUT[2] + column;
                    let at_w = (((ci * OUT_CHANNELS + co) * KERNEL + kz) * KERNEL + ky) * KERNEL + kx;
                    let product = f64::from(x[at_x]) * f64::from(w[at_w]);
                    value += product;
                    magnitude += product.abs();
                    products += 1.0;
                }
            }
        }
    }
    (f64::from(got) - value).abs() / ((products + 2.0) * magnitude / f64::from(1 << 24))
}

fn main() -> ct3d::Result<ExitCode> {
    let problem = Problem::new(IN_CHANNELS, OUT_CHANNELS, INPUT, [KERNEL; 3])
        .batch(BATCH)
        .stride([STRIDE; 3])
        .padding([PADDING; 3])
        .dilation([DILATION; 3])
        .bias(true);
    let plan = Plan::new(&problem)?;
    let mut workspace = plan.new_workspace()?;

    let mut random = Random(77);
    let shape = problem.output_shape()?;
    let x = random.fill(problem.input_shape().iter().product());
    let w = random.fill(problem.weights_shape()?.iter().product());
    let bias = random.fill(OUT_CHANNELS);
    let mut y = vec![f32::NAN; shape.iter().product()];

    let mut times = [Duration::ZERO; RUNS];
    for time in &mut times {
        let start = Instant::now();
        plan.forward(&x, &w, Some(&bias), &mut y, &mut workspace)?;
        *time = start.elapsed();
    }
    times.sort();

    // NaN is no maximum of f64::max, so errors are compared one by one.
    let (mut worst, mut wrong) = (0.0f64, 0);
    for _ in 0..CHECKED {
        let mut rest = random.bits() as usize % y.len();
        let got = y[rest];
        let mut at = [0; 5];
        for axis in (0..5).rev() {
            at[axis] = rest % shape[axis];
            rest /= shape[axis];
        }
        let error = error_over_bound(got, &x, &w, &bias, at);
        wrong += usize::from(error.is_nan() || error > 1.0);
        worst = worst.max(error);
    }
    println!("kb1-77, {:?}: {:.1} ms, the median of {}", shape, times[RUNS / 2].as_secs_f64() * 1e3, RUNS);
    println!("{} outputs checked, {} wrong, the largest error is {:.3} of the bound", CHECKED, wrong, worst);
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
