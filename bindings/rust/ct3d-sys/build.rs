// SPDX-License-Identifier: MIT
//! Tells the linker where libct3d is: in `CT3D_LIB_DIR`, or built here from source, or where pkg-config says.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() {
    for variable in ["CT3D_LIB_DIR", "CT3D_MESON_OPTIONS", "PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={}", variable);
    }
    println!("cargo:rerun-if-changed=build.rs");
    if let Ok(folder) = env::var("CT3D_LIB_DIR") {
        link_shared(&folder);
    } else if env::var_os("CARGO_FEATURE_BUILD_FROM_SOURCE").is_some() {
        link_static(&build_from_source());
    } else {
        let wanted = format!("ct3d >= {}", env!("CARGO_PKG_VERSION"));
        link_shared(run(pkg_config().args(["--print-errors", "--variable=libdir", &wanted])).trim_end());
    }
}

fn link_shared(folder: &str) {
    println!("cargo:rustc-link-search=native={}", folder);
    println!("cargo:rustc-link-lib=dylib=ct3d");
}

/// Programs then need no libct3d.so; what the library itself needs, its pkg-config file says.
fn link_static(build: &Path) {
    let uninstalled = build.join("meson-uninstalled");
    let flags = run(pkg_config().env("PKG_CONFIG_PATH", uninstalled).args(["--static", "--libs", "ct3d"]));
    for flag in flags.split_whitespace() {
        match flag.split_at(2) {
            ("-L", folder) => println!("cargo:rustc-link-search=native={}", folder),
            ("-l", "ct3d") => println!("cargo:rustc-link-lib=static=ct3d"),
            ("-l", library) => println!("cargo:rustc-link-lib=dylib={}", library),
            _ if flag == "-fopenmp" => println!("cargo:rustc-link-lib=dylib=gomp"),
            _ => (),
        }
    }
    println!("cargo:rustc-link-lib=dylib=stdc++");
}

fn build_from_source() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    for part in ["meson.build", "meson_options.txt", "include", "src"] {
        println!("cargo:rerun-if-changed={}", source.join(part).display());
    }
    let build = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("meson");
    let options = env::var("CT3D_MESON_OPTIONS").unwrap_or_default();
    let mut setup = Command::new("meson");
    setup.args(["setup", "--default-library=static", "-Dtools=disabled", "-Dtests=disabled"]);
    if build.join("build.ninja").exists() {
        setup.arg("--reconfigure");
    }
    run(setup.args(options.split_whitespace()).arg(&build).arg(&source));
    run(Command::new("meson").args(["compile", "-C"]).arg(&build));
    build
}

fn pkg_config() -> Command {
    Command::new(env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into()))
}

const HINT: &str = "ct3d is found through pkg-config, or in the folder CT3D_LIB_DIR, or built by the feature \
                    build-from-source; see docs/rust.md";

/// What the command prints; cargo shows what it says on standard error.
fn run(command: &mut Command) -> String {
    let outcome = command.stderr(Stdio::inherit()).output();
    let output = outcome.unwrap_or_else(|error| panic!("{:?}: {}\n{}", command, error, HINT));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}\n{:?}: {}\n{}", text, command, output.status, HINT);
    text
}
