// SPDX-License-Identifier: MIT
//! Versions, backends, descriptions, memory.

use ct3d::{Backend, Bf16, Memory, Plan, PlanOptions, Problem, Status, F16};

#[test]
fn the_library_is_of_the_crates_version() {
    assert_eq!(ct3d::version(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_cpu_is_a_device() {
    let info = Backend::Cpu.info().unwrap();
    assert_eq!((info.name.as_str(), info.device_count, info.reason.as_str()), ("cpu", 1, ""));
    let device = Backend::Cpu.device_info(0).unwrap();
    assert!(device.compute_units > 0 && device.memory > 0 && !device.arch.is_empty());
    assert_eq!(Backend::Cpu.device_info(1).unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(Backend::Cpu.synchronize(0), Ok(()));
}

#[test]
fn a_plan_describes_itself() {
    let options = PlanOptions::new().kernel("direct").threads(1);
    let plan = Plan::with_options(&Problem::new(1, 1, [2; 3], [3; 3]), &options).unwrap();
    assert_eq!((plan.backend(), plan.device()), (Backend::Cpu, 0));
    assert!(plan.describe().unwrap().contains("direct"));
    let json = plan.describe_json().unwrap();
    assert!(json.starts_with('{') && json.trim_end().ends_with('}') && json.contains("\"direct\""), "{}", json);
}

#[test]
fn memory_keeps_what_is_copied_to_it() {
    let mut memory = Memory::new(Backend::Cpu, 0, 12).unwrap();
    assert_eq!((memory.backend(), memory.bytes(), memory.as_ptr() as usize % 256), (Backend::Cpu, 12, 0));
    memory.copy_from_slice(&[1.5f32, 2.5, 3.5]).unwrap();
    let mut values = [0f32; 3];
    memory.copy_to_slice(&mut values).unwrap();
    assert_eq!(values, [1.5, 2.5, 3.5]);
    for error in [memory.copy_from_slice(&[0f64; 2]), memory.copy_to_slice(&mut [0f64; 2])] {
        assert_eq!(error.unwrap_err().message(), "the slice has 16 bytes, the memory has 12");
    }
}

#[test]
fn bits_are_numbers_without_a_copy() {
    let mut bits = [0x3c00, 0xc000];
    assert_eq!(F16::from_bits(&bits), [F16(0x3c00), F16(0xc000)]);
    Bf16::from_bits_mut(&mut bits)[1] = Bf16(0x3f80);
    assert_eq!(bits, [0x3c00, 0x3f80]);
}
