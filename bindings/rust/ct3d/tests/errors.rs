// SPDX-License-Identifier: MIT
//! What is refused, and what the message names.

mod common;

use common::HEADLINE;
use ct3d::{Backend, Error, Memory, Operation, Plan, PlanOptions, Problem, Result, Status, F16};
use std::fmt::Debug;

fn small() -> Problem {
    Problem::new(2, 4, [2, 3, 4], [3; 3])
}

#[track_caller]
fn assert_refused<T: Debug>(result: Result<T>, status: Status, words: &[&str]) {
    let error: Error = result.unwrap_err();
    assert_eq!(error.status(), status, "{}", error);
    for word in words {
        assert!(error.message().contains(word), "\"{}\" is not in: {}", word, error);
    }
    assert_eq!(error.to_string(), error.message());
}

#[test]
fn an_illegal_problem_names_the_field_and_the_value() {
    for (problem, words) in [
        (small().stride([1, 0, 1]), ["stride[1]", "0"]),
        (small().dilation([0, 1, 1]), ["dilation[0]", "0"]),
        (small().groups(3), ["groups", "3"]),
        (small().output_padding([0, 0, 7]), ["output_padding[2]", "7"]),
        (small().padding([9, 0, 0]), ["pad_begin", "9"]),
        (small().batch(usize::MAX), ["x", "too large"]),
        (Problem::new(0, 4, [2; 3], [3; 3]), ["in_channels", "0"]),
        (Problem::new(2, 4, [2, 0, 2], [3; 3]), ["in[1]", "0"]),
        (Problem::new(2, 4, [2; 3], [3, 3, 0]), ["kernel[2]", "0"]),
    ] {
        assert_refused(problem.output_shape(), Status::InvalidArgument, &words);
        assert_refused(problem.weights_shape(), Status::InvalidArgument, &words);
        assert_refused(Plan::new(&problem), Status::InvalidArgument, &words);
    }
}

#[test]
fn an_option_that_cannot_be_met_is_named() {
    let plan = |options: PlanOptions| Plan::with_options(&small(), &options);
    assert_refused(plan(PlanOptions::new().kernel("abacus")), Status::Unsupported, &["kernel", "abacus"]);
    assert_refused(plan(PlanOptions::new().kernel("a\0b")), Status::InvalidArgument, &["kernel", "a\\0b"]);
    assert_refused(plan(PlanOptions::new().device(7)), Status::InvalidArgument, &["device", "7"]);
    assert_refused(plan(PlanOptions::new().device(u32::MAX)), Status::InvalidArgument, &["device"]);
    let limited = PlanOptions::new().kernel("phase").max_workspace(0);
    assert_refused(plan(limited), Status::Unsupported, &["workspace", "max_workspace is 0"]);
    assert_eq!(plan(PlanOptions::new().kernel("direct").threads(u32::MAX)).unwrap().workspace_size(), 0);
}

/// A plan with its tensors, of which one is replaced by each test.
struct Fixture {
    plan: Plan,
    x: Vec<f32>,
    w: Vec<f32>,
    bias: Vec<f32>,
    y: Vec<f32>,
    workspace: Memory,
}

impl Fixture {
    fn new() -> Self {
        let plan = Plan::new(&HEADLINE.problem::<f32>(Operation::Forward).bias(true)).unwrap();
        Fixture {
            workspace: plan.new_workspace().unwrap(),
            x: vec![0.0; HEADLINE.x_length()],
            w: vec![0.0; HEADLINE.w_length()],
            bias: vec![0.0; HEADLINE.out_channels],
            y: vec![7.0; HEADLINE.y_length()],
            plan,
        }
    }

    fn forward(&mut self) -> Result<()> {
        self.plan.forward(&self.x, &self.w, Some(&self.bias), &mut self.y, &mut self.workspace)
    }

    #[track_caller]
    fn assert_refused(&mut self, words: &[&str]) {
        assert_refused(self.forward(), Status::InvalidArgument, words);
        assert!(self.y.iter().all(|&value| value == 7.0));
    }
}

#[test]
fn a_slice_of_another_length_is_named() {
    assert_eq!(Fixture::new().forward(), Ok(()));
    type Field = fn(&mut Fixture) -> &mut Vec<f32>;
    let fields: [(&str, Field); 4] =
        [("x", |f| &mut f.x), ("w", |f| &mut f.w), ("bias", |f| &mut f.bias), ("y", |f| &mut f.y)];
    for (name, field) in fields {
        let right = field(&mut Fixture::new()).len();
        for wrong in [right - 1, right + 1, 0] {
            let mut fixture = Fixture::new();
            field(&mut fixture).resize(wrong, 7.0);
            let sentence = format!("{} has {} elements, the problem has {}", name, wrong, right);
            fixture.assert_refused(&[&sentence]);
        }
    }
}

#[test]
fn lengths_of_the_gradients_are_checked_too() {
    let case = HEADLINE;
    let [x, w, y, bias] = [case.x_length(), case.w_length(), case.y_length(), case.out_channels].map(|n| vec![0f32; n]);
    let refused = |result: Result<()>, word: &str| assert_refused(result, Status::InvalidArgument, &[word]);

    let plan = Plan::new(&case.problem::<f32>(Operation::BackwardData)).unwrap();
    let mut workspace = plan.new_workspace().unwrap();
    let mut dx = x.clone();
    refused(plan.backward_data(&y[1..], &w, &mut dx, &mut workspace), "dy has ");
    refused(plan.backward_data(&y, &w[1..], &mut dx, &mut workspace), "w has ");
    refused(plan.backward_data(&y, &w, &mut dx[1..], &mut workspace), "dx has ");

    let plan = Plan::new(&case.problem::<f32>(Operation::BackwardWeights)).unwrap();
    let mut workspace = plan.new_workspace().unwrap();
    let (mut dw, mut dbias) = (w, bias);
    refused(plan.backward_weights(&x[1..], &y, Some(&mut dw), None, &mut workspace), "x has ");
    refused(plan.backward_weights(&x, &y[1..], Some(&mut dw), None, &mut workspace), "dy has ");
    refused(plan.backward_weights(&x, &y, Some(&mut dw[1..]), None, &mut workspace), "dw has ");
    refused(plan.backward_weights(&x, &y, None, Some(&mut dbias[1..]), &mut workspace), "dbias has ");
    refused(plan.backward_weights(&x, &y, None, None, &mut workspace), "dw and buffers->dbias");
}

#[test]
fn a_bias_is_given_exactly_if_the_problem_has_one() {
    let Fixture { plan, x, w, mut y, mut workspace, bias } = Fixture::new();
    let result = plan.forward(&x, &w, None, &mut y, &mut workspace);
    assert_refused(result, Status::InvalidArgument, &["bias", "missing"]);
    let plan = Plan::new(&HEADLINE.problem::<f32>(Operation::Forward)).unwrap();
    let result = plan.forward(&x, &w, Some(&bias), &mut y, &mut workspace);
    assert_refused(result, Status::InvalidArgument, &["bias", "given"]);
}

#[test]
fn a_plan_of_another_operation_or_type_is_named() {
    let Fixture { plan, x, w, mut y, mut workspace, .. } = Fixture::new();
    let result = plan.backward_data(&y, &w, &mut x.clone(), &mut workspace);
    assert_refused(result, Status::InvalidArgument, &["BackwardData", "Forward"]);
    let plan = Plan::new(&HEADLINE.problem::<F16>(Operation::Forward)).unwrap();
    let result = plan.forward(&x, &w, None, &mut y, &mut workspace);
    assert_refused(result, Status::InvalidArgument, &["F32", "F16"]);
}

#[test]
fn workspace_that_is_too_small_is_named() {
    let options = PlanOptions::new().kernel("phase");
    let plan = Plan::with_options(&HEADLINE.problem::<f32>(Operation::Forward).bias(true), &options).unwrap();
    let needed = plan.workspace_size();
    assert!(needed > 0);
    let workspace = Memory::new(Backend::Cpu, 0, needed - 1).unwrap();
    Fixture { plan, workspace, ..Fixture::new() }.assert_refused(&["workspace_size", &needed.to_string()]);
}

/// Holds whether or not the machine has a GPU.
#[test]
fn slices_are_refused_on_a_gpu() {
    for backend in [Backend::Cuda, Backend::Hip] {
        let options = PlanOptions::new().backend(backend);
        let plan = Plan::with_options(&HEADLINE.problem::<f32>(Operation::Forward).bias(true), &options);
        let info = backend.info().unwrap();
        if info.device_count == 0 {
            assert!(!info.reason.is_empty());
            assert_refused(plan, Status::Unsupported, &[&info.name]);
            assert_refused(Memory::new(backend, 0, 16), Status::Unsupported, &[&info.name]);
            assert_refused(backend.device_info(0), Status::Unsupported, &[&info.name]);
        } else {
            Fixture { plan: plan.unwrap(), ..Fixture::new() }.assert_refused(&["host"]);
        }
    }
}
