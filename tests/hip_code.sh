#!/usr/bin/env bash
# Checks the code objects of a build, NAME.ARCH.co, kernel by kernel: registers, scratch, matrix instructions, and that
# the compiler knows of each access which memory it is to. Prints a table, and a line for each failure. spills: scalar
# registers that are kept in vector registers; vector: loads of 16 bytes.
#   hip_code.sh FOLDER
set -euo pipefail
folder=$1

# The newest knows all architectures.
newest() {
    local tool
    for tool in "$1"-{21,20,19,18,17} "$1" "/opt/rocm/llvm/bin/$1"; do
        if command -v "$tool" >/dev/null; then
            echo "$tool"
            return
        fi
    done
    echo "there is no $1" >&2
    exit 77
}
readelf=$(newest llvm-readelf) objdump=$(newest llvm-objdump)

shopt -s nullglob
objects=("$folder"/*.co)
if ((${#objects[@]} == 0)); then
    echo "there is no code object in $folder" >&2
    exit 1
fi

printf '%-8s %-56s %5s %5s %6s %6s %6s %6s\n' arch kernel vgpr agpr spills lds vector mfma
failed=0
for object in "${objects[@]}"; do
    arch=${object%.co}
    arch=${arch##*.}
    { "$readelf" --notes "$object" && echo ---- && "$objdump" -d --no-show-raw-insn --no-leading-addr "$object"; } |
        awk -v arch="$arch" '
        function fail(text) { print "FAILED: " arch " " kernel " " text; failed = 1 }
        # What the phase GEMM multiplies with: CDNA 2 takes subnormal halves for zeros, and has no xf32.
        function intended(math) {
            if (math == "bf16") return "16x16x16_?bf16(_1k)?"
            if (math == "f16" && arch != "gfx90a") return "16x16x16_?f16"
            if (math == "tf32" && arch != "gfx90a") return "16x16x8_?xf32"
            return "16x16x4_?f32"
        }
        function judge(    part) {
            if (vgpr[kernel] > 256) fail("has " vgpr[kernel] " vector registers, must be at most 256")
            if (scratch[kernel] > 0) fail("has " scratch[kernel] " bytes of scratch")
            if (spilled[kernel] > 0) fail("spills " spilled[kernel] " vector registers")
            if (flat[kernel] > 0) fail("has " flat[kernel] " flat accesses, to global or shared memory")
            if (kernel ~ /^ct3d_phase_gemm_[a-z0-9]+_[0-9]+x/) {
                split(kernel, part, "_")
                if (mfma[kernel] == 0) fail("has no matrix instruction")
                for (instruction in kinds)
                    if (instruction !~ "^v_mfma_f32_" intended(part[4]) "(_|$)")
                        fail("has " instruction ", must be v_mfma_f32_" intended(part[4]))
            } else if (mfma[kernel] > 0) fail("has matrix instructions")
            printf "%-8s %-56s %5d %5d %6d %6d %6d %6d\n", arch, kernel, vgpr[kernel], agpr[kernel],
                sgpr_spilled[kernel], lds[kernel], vector[kernel], mfma[kernel]
        }
        $1 == "----" { code = 1 }
        !code && $1 == "-" && $2 == ".agpr_count:" { agprs = $3 }
        !code && $1 == ".agpr_count:" { agprs = $2 }
        !code && $1 == ".group_segment_fixed_size:" { shared = $2 }
        !code && $1 == ".name:" && $2 ~ /^ct3d_/ {
            kernel = $2; agpr[kernel] = agprs + 0; lds[kernel] = shared; agprs = 0; ++kernels
        }
        !code && $1 == ".private_segment_fixed_size:" { scratch[kernel] = $2 }
        !code && $1 == ".sgpr_spill_count:" { sgpr_spilled[kernel] = $2 }
        !code && $1 == ".vgpr_count:" { vgpr[kernel] = $2 } # of both kinds
        !code && $1 == ".vgpr_spill_count:" { spilled[kernel] = $2 }
        code && /^<.*>:$/ {
            if (seen) judge()
            kernel = substr($1, 2, length($1) - 3)
            seen = kernel in vgpr
            if (seen) ++judged
            delete kinds
        }
        code && $1 ~ /^v_mfma/ { ++mfma[kernel]; ++kinds[$1] }
        code && $1 ~ /^flat_/ { ++flat[kernel] }
        code && $1 ~ /^(ds_(read|load)|global_load|buffer_load)_(b128|dwordx4)/ { ++vector[kernel] }
        END {
            if (seen) judge()
            if (!kernels || judged != kernels) {
                print "FAILED: " arch ": " judged + 0 " of " kernels + 0 " kernels found"
                failed = 1
            }
            exit failed
        }' || failed=1
done
exit "$failed"
