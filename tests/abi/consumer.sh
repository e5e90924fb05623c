#!/usr/bin/env bash
# Installs the build into a scratch tree, builds both examples against it through pkg-config, and compares what they
# print.
#   consumer.sh SOURCE_ROOT BUILD_ROOT
# CC and CXX name the compilers.
set -euo pipefail
source_root=$1
build_root=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

meson install -C "$build_root" --no-rebuild --destdir "$scratch" --quiet
pc=$(find "$scratch" -name ct3d.pc)
libdir=$(dirname "$(dirname "$pc")")
prefix=$scratch$(sed -n 's/^prefix=//p' "$pc")
pkg() { PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --define-variable=prefix="$prefix" "$@" ct3d; }

version=$(sed -n 's/^#define CT3D_VERSION_[MP][A-Z]* \([0-9]*\)$/\1/p' "$source_root/include/ct3d/version.h" |
    paste -sd.)
[[ $(pkg --modversion) == "$version" ]] || { echo "pkg-config has version $(pkg --modversion)" >&2; exit 1; }

read -ra flags <<<"$(pkg --cflags --libs)"
# shellcheck disable=SC2086 # a compiler may come with arguments
${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Werror "$source_root/tests/example.c" "${flags[@]}" \
    -o "$scratch/example-c"
# shellcheck disable=SC2086
${CXX:-c++} -std=c++17 -Wall -Wextra -Wpedantic -Werror "$source_root/tests/example.cpp" "${flags[@]}" \
    -o "$scratch/example-cpp"

for example in "$scratch/example-c" "$scratch/example-cpp"; do
    LD_LIBRARY_PATH=$libdir "$example" | diff -u "$source_root/tests/example.txt" -
done
