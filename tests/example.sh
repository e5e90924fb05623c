#!/usr/bin/env bash
# Runs an example and compares what it prints.
#   example.sh PROGRAM EXPECTED
set -euo pipefail
"$1" | diff -u "$2" -
