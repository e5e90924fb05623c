#!/usr/bin/env bash
# The command line's exit codes, and what it says of lines that break a rule.
#   cli.sh CT3D CASES_DIRECTORY
set -euo pipefail
ct3d=$1
cases=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset CT3D_BACKEND CT3D_KERNEL CT3D_VERBOSE

# expect CODE TEXT ARGUMENT...: the exit code, and a text that the output holds.
expect() {
    local code=$1 text=$2 got=0
    shift 2
    "$ct3d" "$@" >"$scratch/output" 2>&1 || got=$?
    if [[ $got != "$code" ]] || ! grep -qF -- "$text" "$scratch/output"; then
        printf 'ct3d %s\n  exit %s, expected %s with "%s"\n' "$*" "$got" "$code" "$text" >&2
        cat "$scratch/output" >&2
        exit 1
    fi
}

good="small 1 3 4 4,5,6 3 2 1 0 1 1"
expect 0 "cpu" info
expect 0 '"backends"' info --json
expect 0 "phases" plan "$good"
expect 0 "1 passed, 0 failed" check "$good"
expect 0 "small" bench "$good"

# Nothing ran: refused by the forced kernel, over the limit, no such backend here.
expect 77 "0 passed, 0 failed" check "$good" --kernel no-such-kernel
expect 77 "skipped" check "$good" --max-memory 0.000001
expect 77 "skipped" check "$good" --backend hip

expect 2 "" check
expect 2 "" no-such-command
expect 2 "" check "$good" --no-such-option
expect 2 "" check --cases /nonexistent
expect 2 "f32,f16,bf16,f64,all" check "$good" --dtype f8
expect 2 "f32, f16, bf16, f64 ($good dtype=f8)" check "$good dtype=f8"
expect 2 "dtype: is given twice ($good dtype=f16 dtype=f32)" check "$good dtype=f16 dtype=f32"

# Numbers out of range.
for option in --random=-1 --random=10000001 --seed=-1 --seed=18446744073709551616 --max-memory={0,-1,nan,inf}; do
    expect 2 "${option%%=*}" check "$good" "$option"
done
expect 0 "1 passed" check --random 1 --seed 18446744073709551615
expect 0 "30 passed" check --random 30 --dtype f64

# Files: one for each --cases, with a case in it; one for the document that can be written.
printf '%s\n' "$good" >"$scratch/cases.txt"
: >"$scratch/empty.txt"
expect 0 "3 passed" check --cases "$scratch/cases.txt" --cases "$scratch/cases.txt" "$good"
expect 2 "empty.txt: no case in it" check --cases "$scratch/empty.txt" "$good"
expect 2 "$scratch: cannot be read" check --cases "$scratch"
expect 2 "no case is given" bench
expect 2 "--json" check "$good" --json ""
for command in check bench; do
    expect 2 "/nonexistent/x: cannot be written" "$command" "$good" --json /nonexistent/x
    if grep -qF small "$scratch/output"; then
        echo "$command ran before it looked at --json" >&2
        exit 1
    fi
done
expect 0 '"name": "'$'\xef\xbf\xbd''"' plan $'\xff 1 3 4 4 3 2 1 0 1 1' --json

# Output that cannot be written.
for output in /dev/full closed; do
    got=0
    if [[ $output == closed ]]; then
        "$ct3d" check "$good" >&- 2>"$scratch/output" || got=$?
    else
        "$ct3d" check "$good" >"$output" 2>"$scratch/output" || got=$?
    fi
    if [[ $got != 2 ]] || ! grep -qF "standard output" "$scratch/output"; then
        echo "standard output $output: exit $got, expected 2" >&2
        exit 1
    fi
done

# The environment's backend and kernel.
CT3D_BACKEND=hip expect 77 "skipped" bench "$good"
if grep -qF "copy" "$scratch/output"; then
    echo "bench measured rates and timed no case" >&2
    exit 1
fi
CT3D_KERNEL=direct expect 0 "kernel phase: 1 problems, 1 passed" check "$good" --kernel all

# Every rule of a legal problem, with the field.
while IFS='|' read -r field line; do
    expect 2 "CT3D_INVALID_ARGUMENT" check "$line"
    expect 2 "$field" check "$line"
done <<'LINES'
batch|a -1 3 4 4 3 2 1 0 1 1
in_channels|a 1 0 4 4 3 2 1 0 1 1
out_channels|a 1 3 0 4 3 2 1 0 1 1
in[1]|a 1 3 4 4,0,4 3 2 1 0 1 1
kernel[0]|a 1 3 4 4 0 2 1 0 1 1
stride[2]|a 1 3 4 4 3 2,2,0 1 0 1 1
dilation[0]|a 1 3 4 4 3 2 1 0 0 1
pad_begin[1]|a 1 3 4 4 3 2 0,-1,0 0 1 1
pad_end[2]|a 1 3 4 4 3 2 1 0 1 1 pad_end=0,0,-1
output_padding[0]|a 1 3 4 4 3 2 1 2 1 1
output_padding[0]|a 1 3 4 4 3 2 1 -1 1 1
groups|a 1 3 4 4 3 2 1 0 1 0
groups|a 1 3 4 4 3 2 1 0 1 2
out[0]|a 1 3 4 1 1 1 3 0 1 1
x is too large|a 9000000000 9000000000 4 4 3 2 1 0 1 1
out[2]|a 1 3 4 4 3 2,2,9223372036854775807 1 0 1 1
dtype|a 1 3 4 4 3 2 1 0 1 1 dtype=int8
layout|a 1 3 4 4 3 2 1 0 1 1 layout=nchw
op|a 1 3 4 4 3 2 1 0 1 1 op=backward
fill|a 1 3 4 4 3 2 1 0 1 1 fill=zero
colour|a 1 3 4 4 3 2 1 0 1 1 colour=red
stride|a 1 3 4 4 3 two 1 0 1 1
groups|a 1 3 4 4 3 2 1 0 1
LINES

# A failure prints what reproduces it; the same seed and line pass here.
expect 0 "passed" check --random 20 --seed 3
expect 0 "passed" check --cases "$cases/cases.txt" --max-memory 0.05 --fill exact --json "$scratch/check.json"
expect 0 "passed" check "$good" --dtype all --layout all --wlayout all --op all --bias all --fill all --kernel all
python3 - "$scratch/check.json" <<'PYTHON'
import json, sys
document = json.load(open(sys.argv[1]))
assert {"version", "device", "date", "cases"} <= document.keys(), document.keys()
statuses = {case["status"] for case in document["cases"]}
assert statuses == {"passed", "skipped"}, statuses
PYTHON
