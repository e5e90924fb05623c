// SPDX-License-Identifier: MIT
//! The declarations against the header, the C compiler and the list of exported symbols.

use ct3d_sys::*;
use std::mem::{size_of, size_of_val};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, ptr};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn header(name: &str) -> String {
    fs::read_to_string(repository().join("include/ct3d").join(name)).unwrap()
}

struct Field {
    name: &'static str,
    offset: usize,
    size: usize,
}

struct Layout {
    name: &'static str,
    size: usize,
    fields: Vec<Field>,
}

/// The pattern has no `..`, so a field that is not listed does not compile.
macro_rules! layout {
    ($name:ident { $($field:ident),* }) => {{
        let value = $name::default();
        let $name { $($field),* } = &value;
        let start = ptr::addr_of!(value) as usize;
        let fields = vec![$(Field {
            name: stringify!($field).trim_start_matches("r#"),
            offset: $field as *const _ as usize - start,
            size: size_of_val($field),
        }),*];
        Layout { name: stringify!($name), size: size_of::<$name>(), fields }
    }};
}

fn layouts() -> Vec<Layout> {
    vec![
        layout!(ct3d_problem {
            struct_size,
            op,
            dtype,
            math,
            layout,
            weights_layout,
            has_bias,
            batch,
            in_channels,
            out_channels,
            groups,
            r#in,
            kernel,
            stride,
            dilation,
            pad_begin,
            pad_end,
            output_padding,
            w_dtype,
            y_dtype,
            bias_dtype,
            y_layout,
            y_batch_stride,
            y_channel_stride,
            packed_weights,
            epilogue,
            beta
        }),
        layout!(ct3d_plan_options { struct_size, backend, device, threads, reserved, max_workspace, kernel }),
        layout!(ct3d_buffers { struct_size, x, w, bias, y, dy, dx, dw, dbias, workspace, workspace_size, stream }),
        layout!(ct3d_backend_info { struct_size, backend, device_count, name, version, reason }),
        layout!(ct3d_device_info {
            struct_size,
            backend,
            device,
            name,
            arch,
            compute_units,
            reserved,
            memory,
            last_level_cache
        }),
    ]
}

macro_rules! constants {
    ($($name:ident),*) => { [$((stringify!($name), $name)),*] };
}

const CONSTANTS: [(&str, i32); 30] = constants![
    CT3D_SUCCESS,
    CT3D_INVALID_ARGUMENT,
    CT3D_UNSUPPORTED,
    CT3D_OUT_OF_MEMORY,
    CT3D_DEVICE_ERROR,
    CT3D_INTERNAL,
    CT3D_FORWARD,
    CT3D_BACKWARD_DATA,
    CT3D_BACKWARD_WEIGHTS,
    CT3D_DTYPE_DEFAULT,
    CT3D_F32,
    CT3D_F16,
    CT3D_BF16,
    CT3D_F64,
    CT3D_MATH_FP32,
    CT3D_MATH_TF32,
    CT3D_NCDHW,
    CT3D_NDHWC,
    CT3D_IODHW,
    CT3D_IDHWO,
    CT3D_BACKEND_AUTO,
    CT3D_BACKEND_CPU,
    CT3D_BACKEND_CUDA,
    CT3D_BACKEND_HIP,
    CT3D_DESCRIBE_TEXT,
    CT3D_DESCRIBE_JSON,
    CT3D_VERSION_MAJOR,
    CT3D_VERSION_MINOR,
    CT3D_VERSION_PATCH,
    CT3D_VERSION
];

/// What a C program prints that has `statements` as its main function.
fn output_of_c(statements: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join("layout.c"), folder.join("layout"));
    let includes = "#include <ct3d/ct3d.h>\n#include <stddef.h>\n#include <stdio.h>\n";
    fs::write(&source, format!("{}int main(void) {{\n{}\nreturn 0;\n}}\n", includes, statements)).unwrap();
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut words = compiler.split_whitespace();
    let status = Command::new(words.next().unwrap())
        .args(words)
        .arg("-I")
        .arg(repository().join("include"))
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .status()
        .unwrap();
    assert!(status.success(), "{}: {}", compiler, status);
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn sizes_offsets_and_values_are_those_of_the_c_compiler() {
    let (mut statements, mut expected) = (Vec::new(), Vec::new());
    let mut line = |what: String, format: &str, c: String, rust: String| {
        statements.push(format!("printf(\"{} {}\\n\", {});", what, format, c));
        expected.push(format!("{} {}", what, rust));
    };
    for Layout { name, size, fields } in layouts() {
        line(name.to_string(), "%zu", format!("sizeof({})", name), size.to_string());
        for field in fields {
            line(
                format!("{}.{}", name, field.name),
                "%zu %zu",
                format!("offsetof({0}, {1}), sizeof((({0} *)0)->{1})", name, field.name),
                format!("{} {}", field.offset, field.size),
            );
        }
    }
    for (name, value) in CONSTANTS {
        line(name.to_string(), "%d", name.to_string(), value.to_string());
    }
    assert_eq!(output_of_c(&statements.join("\n")).lines().collect::<Vec<_>>(), expected);
}

/// No byte between fields is left over in which the C struct could have one more.
#[test]
#[cfg(target_pointer_width = "64")]
fn no_field_is_missing() {
    for Layout { name, size, fields } in layouts() {
        let mut end = 0;
        for field in fields {
            assert_eq!(field.offset, end, "{}.{}", name, field.name);
            end += field.size;
        }
        assert_eq!(end, size, "{}", name);
    }
}

#[test]
fn no_value_is_missing() {
    let text = header("ct3d.h");
    let in_header: Vec<&str> = text
        .match_indices(" = ")
        .filter_map(|(at, _)| text[..at].rsplit(|c: char| !c.is_alphanumeric() && c != '_').next())
        .filter(|name| name.starts_with("CT3D_"))
        .collect();
    assert_eq!(in_header.len(), CONSTANTS.len() - 4, "{:?}", in_header);
    for name in in_header {
        assert!(CONSTANTS.iter().any(|&(known, _)| known == name), "{}", name);
    }
}

macro_rules! functions {
    ($($name:ident),* $(,)?) => { [$(($name as *const (), stringify!($name))),*] };
}

#[test]
fn all_exported_functions_are_declared_and_link() {
    let functions = functions![
        ct3d_alloc,
        ct3d_backend_info_init,
        ct3d_buffers_init,
        ct3d_copy,
        ct3d_create_plan,
        ct3d_describe_plan,
        ct3d_destroy_plan,
        ct3d_device_info_init,
        ct3d_execute,
        ct3d_free,
        ct3d_get_backend_info,
        ct3d_get_device_info,
        ct3d_last_error,
        ct3d_output_shape,
        ct3d_plan_device,
        ct3d_plan_options_init,
        ct3d_plan_workspace_size,
        ct3d_problem_init,
        ct3d_set_log_callback,
        ct3d_status_string,
        ct3d_synchronize,
        ct3d_version,
        ct3d_version_string,
    ];
    let exported = fs::read_to_string(repository().join("tests/abi/symbols.txt")).unwrap();
    assert_eq!(functions.map(|(_, name)| name).to_vec(), exported.lines().collect::<Vec<_>>());
}

#[test]
fn version_is_that_of_the_header_and_of_the_library() {
    let text = header("version.h");
    let number = |name: &str| {
        let define = format!("#define CT3D_VERSION_{} ", name);
        text.lines().find_map(|line| line.strip_prefix(define.as_str())).unwrap().to_string()
    };
    let version = [number("MAJOR"), number("MINOR"), number("PATCH")].join(".");
    assert_eq!(env!("CARGO_PKG_VERSION"), version);
    // SAFETY: it has no preconditions.
    assert_eq!(unsafe { ct3d_version() }, CT3D_VERSION);
}
