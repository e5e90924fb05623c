// SPDX-License-Identifier: MIT
//! Random numbers of each type, and their values.

use ct3d::{Bf16, Element, F16};
use std::fmt::Debug;

/// The generator splitmix64.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        z ^ (z >> 31)
    }

    /// Below `limit`.
    fn below(&mut self, limit: u16) -> u16 {
        (self.bits() % u64::from(limit)) as u16
    }

    pub fn fill<T: Number>(&mut self, length: usize) -> Vec<T> {
        (0..length).map(|_| T::draw(self)).collect()
    }
}

pub trait Number: Element + Debug {
    const NAN: Self;
    /// Unit roundoff of sums, and of the final rounding where there is one.
    const SUM: f64;
    const ROUNDING: f64;
    /// Half the smallest subnormal.
    const TINY: f64;

    /// Absolutely less than 1.
    fn draw(random: &mut Random) -> Self;
    fn value(self) -> f64;
}

const F32_ROUNDOFF: f64 = 1.0 / (1 << 24) as f64;

impl Number for f32 {
    const NAN: Self = f32::NAN;
    const SUM: f64 = F32_ROUNDOFF;
    const ROUNDING: f64 = 0.0;
    const TINY: f64 = 0.0;

    fn draw(random: &mut Random) -> Self {
        (random.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn value(self) -> f64 {
        self.into()
    }
}

impl Number for f64 {
    const NAN: Self = f64::NAN;
    /// Twice that of the type: the reference has the same error.
    const SUM: f64 = f64::EPSILON;
    const ROUNDING: f64 = 0.0;
    const TINY: f64 = 0.0;

    fn draw(random: &mut Random) -> Self {
        (random.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn value(self) -> f64 {
        self
    }
}

impl Number for F16 {
    const NAN: Self = F16(0x7e00);
    const SUM: f64 = F32_ROUNDOFF;
    const ROUNDING: f64 = 1.0 / (1 << 11) as f64;
    const TINY: f64 = 1.0 / (1 << 25) as f64;

    fn draw(random: &mut Random) -> Self {
        F16(random.below(2) << 15 | (8 + random.below(7)) << 10 | random.below(1 << 10))
    }

    fn value(self) -> f64 {
        let (sign, exponent, fraction) = (self.0 >> 15, self.0 >> 10 & 31, f64::from(self.0 & 1023));
        let absolute = match exponent {
            0 => fraction * 2f64.powi(-24),
            31 if fraction == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
        };
        if sign == 1 {
            -absolute
        } else {
            absolute
        }
    }
}

impl Number for Bf16 {
    const NAN: Self = Bf16(0x7fc0);
    const SUM: f64 = F32_ROUNDOFF;
    const ROUNDING: f64 = 1.0 / (1 << 8) as f64;
    const TINY: f64 = 0.0;

    fn draw(random: &mut Random) -> Self {
        Bf16(random.below(2) << 15 | (120 + random.below(7)) << 7 | random.below(1 << 7))
    }

    fn value(self) -> f64 {
        f32::from_bits(u32::from(self.0) << 16).into()
    }
}
