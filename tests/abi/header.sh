#!/usr/bin/env bash
# Compiles each public header alone, as C99 and as C++20, with pedantic warnings as errors.
#   header.sh SOURCE_ROOT
# CC and CXX name the compilers.
set -euo pipefail
root=$1
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Werror)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for header in "$root"/include/ct3d/*.h; do
    name=$(basename "$header")
    printf '#include <ct3d/%s>\n#include <ct3d/%s>\ntypedef int alone;\n' "$name" "$name" >"$scratch/alone.c"
    cp "$scratch/alone.c" "$scratch/alone.cpp"
    # shellcheck disable=SC2086 # a compiler may come with arguments
    ${CC:-cc} -std=c99 "${warnings[@]}" -Wstrict-prototypes -I"$root/include" \
        -c "$scratch/alone.c" -o "$scratch/alone.o"
    # shellcheck disable=SC2086
    ${CXX:-c++} -std=c++20 "${warnings[@]}" -Wold-style-cast -I"$root/include" \
        -c "$scratch/alone.cpp" -o "$scratch/alone.o"
done

printf '#include <ct3d/ct3d.hpp>\n' >"$scratch/alone.cpp"
for standard in c++17 c++20; do
    # shellcheck disable=SC2086
    ${CXX:-c++} -std=$standard "${warnings[@]}" -Wold-style-cast -I"$root/include" -I"$root/bindings/cpp" \
        -c "$scratch/alone.cpp" -o "$scratch/alone.o"
done
