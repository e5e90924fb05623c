#!/usr/bin/env bash
# Compares what the library exports with symbols.txt, and checks that it needs no GPU library.
#   symbols.sh LIBRARY
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
library=$1

exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub("@.*", "", $3); print $3 }' | LC_ALL=C sort)
if ! diff -u "$here/symbols.txt" - <<<"$exported"; then
    echo "exported symbols differ from tests/abi/symbols.txt" >&2
    exit 1
fi

needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
if grep -iE 'cuda|cudart|cublas|cudnn|nvrtc|nvidia|amdhip|hip|rocm|hsa|OpenCL|sycl|ze_loader' <<<"$needed"; then
    echo "the library needs a GPU library" >&2
    exit 1
fi

soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
if [[ ! $soname =~ ^libct3d\.so\.[0-9]+$ ]]; then
    echo "soname is '$soname'" >&2
    exit 1
fi
