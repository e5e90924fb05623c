#!/usr/bin/env bash
# Builds the projects beside this script, as docs/consuming.md shows them, and compares what their programs print.
#   consumers.sh installed SOURCE_ROOT BUILD_ROOT   all of them, against the build, installed into a scratch tree
#   consumers.sh subproject SOURCE_ROOT             the Meson project, with the library as its subproject
# CC and CXX name the compilers.
set -euo pipefail
how=$1
source_root=$2
here=$source_root/tests/consumers
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    printf '%s\n' "$1" >&2
    exit 1
}

# Output is of interest where a step fails.
quietly() {
    "$@" >"$scratch/log" 2>&1 || fail "$*: $(<"$scratch/log")"
}

# Goes to a copy of a project with its sources.
enter_project() {
    mkdir "$scratch/$1"
    cp -r "$here/$1/." "$source_root"/tests/example.{c,cpp} "$scratch/$1"
    cd "$scratch/$1"
}

check_programs() {
    for program in "$@"; do
        "$program" | diff -u "$source_root/tests/example.txt" -
    done
}

check_documentation() {
    local file shown
    shown=$(<"$source_root/docs/consuming.md")
    for file in meson/meson.build cmake/CMakeLists.txt pkg-config/build.sh; do
        [[ $shown == *$'\n\n'"$(sed 's/^./    &/' "$here/$file")"$'\n\n'* ]] ||
            fail "docs/consuming.md does not show tests/consumers/$file as it is"
    done
}

# Makes pkg-config and the dynamic linker find an installed copy of the build.
install_build() {
    local pc prefix version
    quietly meson install -C "$1" --no-rebuild --destdir "$scratch/root"
    pc=$(find "$scratch/root" -name ct3d.pc)
    prefix=$scratch/root$(sed -n 's/^prefix=//p' "$pc")
    sed -i "s|^prefix=.*|prefix=$prefix|" "$pc"
    PKG_CONFIG_PATH=$(dirname "$pc")
    LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
    export PKG_CONFIG_PATH LD_LIBRARY_PATH

    version=$(sed -n 's/^#define CT3D_VERSION_[MP][A-Z]* \([0-9]*\)$/\1/p' "$source_root/include/ct3d/version.h" | paste -sd.)
    [[ $(pkg-config --modversion ct3d) == "$version" ]] || fail "pkg-config has version $(pkg-config --modversion ct3d)"
}

case $how in
installed)
    check_documentation
    install_build "$3"

    enter_project meson
    quietly meson setup build --wrap-mode nofallback --warnlevel 3 --werror
    quietly meson compile -C build
    check_programs build/example-c build/example-cpp

    enter_project cmake
    quietly cmake -G Ninja -S . -B build
    quietly cmake --build build
    check_programs build/example-c build/example-cpp

    enter_project pkg-config
    quietly sh -eu build.sh
    check_programs ./example-c ./example-cpp
    ;;
subproject)
    enter_project meson
    mkdir subprojects
    ln -s "$source_root" subprojects/ct3d
    # What takes long to build is not the point here.
    quietly meson setup build --wrap-mode forcefallback --buildtype plain -Dct3d:{onednn,cuda,hip}=disabled
    quietly meson compile -C build
    check_programs build/example-c build/example-cpp
    ;;
esac
