// SPDX-License-Identifier: MIT
//! What may cross threads, and one plan in several of them.

mod common;

use common::number::Random;
use common::{reference, Output, HEADLINE};
use ct3d::{Error, Memory, Operation, Plan, PlanOptions, Problem};
use std::thread;

const _: fn() = || {
    fn may_cross<T: Send + Sync>() {}
    may_cross::<Plan>();
    may_cross::<Memory>();
    may_cross::<Problem>();
    may_cross::<PlanOptions>();
    may_cross::<Error>();
};

#[test]
fn threads_share_a_plan() {
    let case = HEADLINE;
    let plan = Plan::new(&case.problem::<f32>(Operation::Forward)).unwrap();
    let w = Random(1).fill::<f32>(case.w_length());
    thread::scope(|scope| {
        for seed in 2..6 {
            let (plan, w) = (&plan, &w);
            scope.spawn(move || {
                let mut random = Random(seed);
                let mut workspace = plan.new_workspace().unwrap();
                for _ in 0..10 {
                    let x = random.fill::<f32>(case.x_length());
                    let mut y = Output::new(case.y_length());
                    plan.forward(&x, w, None, y.slice(), &mut workspace).unwrap();
                    y.assert_is(&reference::forward(&case, &x, w, None), &case);
                }
            });
        }
    });
}

#[test]
fn a_plan_and_its_workspace_move_to_another_thread() {
    let case = HEADLINE;
    let plan = Plan::new(&case.problem::<f64>(Operation::Forward)).unwrap();
    let mut workspace = plan.new_workspace().unwrap();
    let (x, w) = (Random(1).fill::<f64>(case.x_length()), Random(2).fill::<f64>(case.w_length()));
    let expected = reference::forward(&case, &x, &w, None);
    let mut y = Output::new(case.y_length());
    let mut y = thread::spawn(move || {
        plan.forward(&x, &w, None, y.slice(), &mut workspace).unwrap();
        y
    })
    .join()
    .unwrap();
    y.assert_is(&expected, &case);
}

/// Each thread has its own message.
#[test]
fn errors_belong_to_the_thread_that_made_them() {
    thread::scope(|scope| {
        for stride in 0..4 {
            scope.spawn(move || {
                for groups in 2..100 {
                    let problem = Problem::new(1, 1, [2; 3], [2; 3]).groups(10 * groups + stride);
                    let error = Plan::new(&problem).unwrap_err();
                    assert!(error.message().contains(&format!("groups is {},", 10 * groups + stride)), "{}", error);
                }
            });
        }
    });
}
