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
expect 2 "dtype" check "$good" --dtype f8

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
