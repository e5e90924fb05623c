// SPDX-License-Identifier: MIT
//! All operations in all types and layouts against the definition.

mod common;

use common::number::{Number, Random};
use common::{cases, reference, Output};
use ct3d::{Bf16, Operation, Plan, F16};

fn check_forward<T: Number>() {
    let mut random = Random(1);
    for case in cases() {
        for has_bias in [false, true] {
            let (x, w) = (random.fill::<T>(case.x_length()), random.fill::<T>(case.w_length()));
            let bias = has_bias.then(|| random.fill::<T>(case.out_channels));
            let problem = case.problem::<T>(Operation::Forward).bias(has_bias);
            let [d, h, width] = case.output();
            assert_eq!(problem.output_shape(), Ok([case.batch, case.out_channels, d, h, width]));

            let plan = Plan::new(&problem).unwrap();
            let mut y = Output::new(case.y_length());
            plan.forward(&x, &w, bias.as_deref(), y.slice(), &mut plan.new_workspace().unwrap()).unwrap();
            y.assert_is(&reference::forward(&case, &x, &w, bias.as_deref()), &case);
        }
    }
}

fn check_backward_data<T: Number>() {
    let mut random = Random(2);
    for case in cases() {
        let (dy, w) = (random.fill::<T>(case.y_length()), random.fill::<T>(case.w_length()));
        let plan = Plan::new(&case.problem::<T>(Operation::BackwardData)).unwrap();
        let mut dx = Output::new(case.x_length());
        plan.backward_data(&dy, &w, dx.slice(), &mut plan.new_workspace().unwrap()).unwrap();
        dx.assert_is(&reference::backward_data(&case, &dy, &w), &case);
    }
}

fn check_backward_weights<T: Number>() {
    let mut random = Random(3);
    for case in cases() {
        let (x, dy) = (random.fill::<T>(case.x_length()), random.fill::<T>(case.y_length()));
        let plan = Plan::new(&case.problem::<T>(Operation::BackwardWeights)).unwrap();
        let mut workspace = plan.new_workspace().unwrap();
        let (expected_dw, expected_dbias) = reference::backward_weights(&case, &x, &dy);
        for (with_dw, with_dbias) in [(true, true), (true, false), (false, true)] {
            let (mut dw, mut dbias) = (Output::new(case.w_length()), Output::new(case.out_channels));
            let dw_slice = with_dw.then(|| dw.slice());
            let dbias_slice = with_dbias.then(|| dbias.slice());
            plan.backward_weights(&x, &dy, dw_slice, dbias_slice, &mut workspace).unwrap();
            if with_dw {
                dw.assert_is(&expected_dw, &case);
            }
            if with_dbias {
                dbias.assert_is(&expected_dbias, &case);
            }
        }
    }
}

macro_rules! in_all_types {
    ($module:ident, $check:ident) => {
        mod $module {
            use super::*;

            #[test]
            fn f32() {
                $check::<f32>();
            }

            #[test]
            fn f64() {
                $check::<f64>();
            }

            #[test]
            fn f16() {
                $check::<F16>();
            }

            #[test]
            fn bf16() {
                $check::<Bf16>();
            }
        }
    };
}

in_all_types!(forward, check_forward);
in_all_types!(backward_data, check_backward_data);
in_all_types!(backward_weights, check_backward_weights);

#[test]
fn an_empty_batch_gives_zero_gradients_of_weights() {
    let problem = common::HEADLINE.problem::<f32>(Operation::BackwardWeights).batch(0);
    let plan = Plan::new(&problem).unwrap();
    let mut dw = vec![f32::NAN; common::HEADLINE.w_length()];
    plan.backward_weights(&[], &[], Some(&mut dw), None, &mut plan.new_workspace().unwrap()).unwrap();
    assert!(dw.iter().all(|&value| value == 0.0));
}

#[test]
fn pointers_give_what_slices_give() {
    let case = common::HEADLINE;
    let plan = Plan::new(&case.problem::<f32>(Operation::Forward)).unwrap();
    let mut random = Random(4);
    let (x, w) = (random.fill::<f32>(case.x_length()), random.fill::<f32>(case.w_length()));
    let (mut by_slices, mut by_pointers) = (vec![0f32; case.y_length()], vec![1f32; case.y_length()]);
    let mut workspace = plan.new_workspace().unwrap();
    plan.forward(&x, &w, None, &mut by_slices, &mut workspace).unwrap();
    let buffers = ct3d::sys::ct3d_buffers {
        x: x.as_ptr().cast(),
        w: w.as_ptr().cast(),
        y: by_pointers.as_mut_ptr().cast(),
        workspace: workspace.as_ptr(),
        workspace_size: workspace.bytes(),
        ..Default::default()
    };
    // SAFETY: the pointers are to tensors of the plan's sizes, and the CPU has finished on return.
    unsafe { plan.execute_raw(&buffers) }.unwrap();
    assert_eq!(by_pointers, by_slices);
}
