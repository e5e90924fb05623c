#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times ct3d and PyTorch (cuDNN) on the same cases in the same run.

Every time is the median of CUDA-event times around one call with a cold L2: a buffer larger than it is written before
each call. PyTorch runs with cuDNN's benchmark mode in both memory formats; ct3d runs on PyTorch's current stream, in
turns with it. "bare" is without bias on both sides: cuDNN itself; PyTorch adds a bias in a second pass over the output.
"""

import argparse
import ctypes
import datetime
import json
import statistics
import sys
import time

import torch

MODES = ("tf32", "f16", "bf16", "f32")
LAYOUTS = ("ncdhw", "ndhwc")
DTYPES = {"f32": torch.float32, "tf32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
FORMATS = {"ncdhw": torch.contiguous_format, "ndhwc": torch.channels_last_3d}
FLUSH_BYTES = 512 << 20

# Bytes and FLOP per second, measured with large copies and matmuls; f32 is three TF32 products in place of one.
RECORDED = {
    "NVIDIA H200": {"copy": 4.30e12, "f32": 417e12 / 3, "tf32": 417e12, "f16": 773e12, "bf16": 803e12, "launch": 4e-6},
}


class Case:
    """A line of a case file; see docs/command-line.md."""

    def __init__(self, line):
        words = line.split()
        options = [word for word in words[11:] if not word.startswith("bias=")]
        if len(words) < 11 or options:
            sys.exit(f"bench_torch.py: not a plain case: {line}")
        self.name = words[0]
        self.batch, self.in_channels, self.out_channels = map(int, words[1:4])
        self.extent, self.kernel, self.stride, self.padding, self.output_padding, self.dilation = (
            self.triple(word) for word in words[4:10]
        )
        self.groups = int(words[10])
        axes = zip(self.extent, self.stride, self.padding, self.dilation, self.kernel, self.output_padding)
        self.output = [(i - 1) * s - 2 * p + d * (k - 1) + a + 1 for i, s, p, d, k, a in axes]

    @staticmethod
    def triple(word):
        numbers = [int(part) for part in word.split(",")]
        return numbers * 3 if len(numbers) == 1 else numbers

    def flop(self):
        products = self.batch * self.in_channels * self.out_channels // self.groups
        for i, s, p, d, k, o in zip(self.extent, self.stride, self.padding, self.dilation, self.kernel, self.output):
            products *= sum(0 <= z * s - p + d * q < o for z in range(i) for q in range(k))
        return 2 * products

    def elements(self):
        def volume(extent):
            return extent[0] * extent[1] * extent[2]

        x = self.batch * self.in_channels * volume(self.extent)
        w = self.in_channels * self.out_channels // self.groups * volume(self.kernel)
        y = self.batch * self.out_channels * volume(self.output)
        return x + w + y


def struct_type(name, fields):
    return type(name, (ctypes.Structure,), {"_fields_": [("struct_size", ctypes.c_size_t)] + fields})


INT32, INT64, POINTER, TRIPLE = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64 * 3
Problem = struct_type(
    "Problem",
    [(name, INT32) for name in ("op", "dtype", "math", "layout", "weights_layout", "has_bias")]
    + [(name, INT64) for name in ("batch", "in_channels", "out_channels", "groups")]
    + [
        (name, TRIPLE)
        for name in ("extent", "kernel", "stride", "dilation", "pad_begin", "pad_end", "output_padding")
    ]
    + [(name, INT32) for name in ("w_dtype", "y_dtype", "bias_dtype", "y_layout")]
    + [("y_batch_stride", INT64), ("y_channel_stride", INT64), ("packed_weights", INT32), ("epilogue", INT32)]
    + [("beta", ctypes.c_double)],
)
PlanOptions = struct_type(
    "PlanOptions",
    [(name, INT32) for name in ("backend", "device", "threads", "reserved")]
    + [("max_workspace", ctypes.c_uint64), ("kernel", ctypes.c_char_p)],
)
Buffers = struct_type(
    "Buffers",
    [(name, POINTER) for name in ("x", "w", "bias", "y", "dy", "dx", "dw", "dbias", "workspace")]
    + [("workspace_size", ctypes.c_uint64), ("stream", POINTER)],
)


class Ct3d:
    """The library, through its C API."""

    CUDA = 2

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.ct3d_last_error.restype = ctypes.c_char_p
        self.library.ct3d_version_string.restype = ctypes.c_char_p
        self.library.ct3d_execute.argtypes = [POINTER, ctypes.POINTER(Buffers)]

    def version(self):
        return self.library.ct3d_version_string().decode()

    def call(self, name, *arguments):
        if getattr(self.library, name)(*arguments) != 0:
            raise RuntimeError(f"{name}: {self.library.ct3d_last_error().decode()}")

    def init(self, struct, name):
        value = struct()
        function = getattr(self.library, name)
        function.argtypes, function.restype = [POINTER, ctypes.c_size_t], None
        function(ctypes.byref(value), ctypes.sizeof(value))
        return value

    def problem(self, case, mode, layout, bias):
        p = self.init(Problem, "ct3d_problem_init")
        p.dtype = {"f32": 1, "tf32": 1, "f16": 2, "bf16": 3}[mode]
        p.math = 1 if mode == "tf32" else 0
        p.layout = LAYOUTS.index(layout)
        p.has_bias = int(bias)
        p.batch, p.in_channels, p.out_channels, p.groups = case.batch, case.in_channels, case.out_channels, case.groups
        for axis in range(3):
            p.extent[axis], p.kernel[axis], p.stride[axis] = case.extent[axis], case.kernel[axis], case.stride[axis]
            p.dilation[axis], p.output_padding[axis] = case.dilation[axis], case.output_padding[axis]
            p.pad_begin[axis] = p.pad_end[axis] = case.padding[axis]
        return p

    def plan(self, problem, kernel):
        options = self.init(PlanOptions, "ct3d_plan_options_init")
        options.backend, options.device = self.CUDA, torch.cuda.current_device()
        options.kernel = kernel.encode() if kernel else None
        plan = POINTER()
        self.call("ct3d_create_plan", ctypes.byref(plan), ctypes.byref(problem), ctypes.byref(options))
        return plan

    def kernel_of(self, plan):
        text = ctypes.create_string_buffer(1 << 16)
        self.call("ct3d_describe_plan", plan, 1, text, ctypes.c_size_t(len(text)), None)
        return json.loads(text.value)["kernel"]


class Ct3dLayer:
    def __init__(self, ct3d, case, mode, tensors, layout, kernel):
        x, w, bias = tensors
        self.ct3d, self.tensors = ct3d, tensors
        self.plan = ct3d.plan(ct3d.problem(case, mode, layout, bias is not None), kernel)
        self.kernel = ct3d.kernel_of(self.plan)
        size = ctypes.c_uint64()
        ct3d.call("ct3d_plan_workspace_size", self.plan, ctypes.byref(size))
        self.y = torch.empty((case.batch, case.out_channels, *case.output), dtype=x.dtype, device=x.device,
                             memory_format=FORMATS[layout])
        self.workspace = torch.empty(size.value, dtype=torch.uint8, device=x.device)
        self.buffers = ct3d.init(Buffers, "ct3d_buffers_init")
        self.buffers.x, self.buffers.w, self.buffers.y = x.data_ptr(), w.data_ptr(), self.y.data_ptr()
        self.buffers.bias = bias.data_ptr() if bias is not None else None
        self.buffers.workspace, self.buffers.workspace_size = self.workspace.data_ptr(), size.value
        self.buffers.stream = torch.cuda.current_stream().cuda_stream

    def __call__(self):
        self.ct3d.call("ct3d_execute", self.plan, ctypes.byref(self.buffers))
        return self.y

    def close(self):
        self.ct3d.library.ct3d_destroy_plan(ctypes.byref(self.plan))


class Timer:
    """Takes the works in turns, each with a cold L2."""

    def __init__(self, seconds):
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        self.value = 0
        self.seconds = seconds  # of timed work after which a few runs are enough

    def once(self, work):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.value = (self.value + 1) % 256
        self.flush.fill_(self.value)
        begin.record()
        work()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3

    def medians(self, works, runs=9, warm_ups=3):
        first = {name: self.once(work) for name, work in works.items()}  # with cuDNN's search of algorithms
        for _ in range(1 if sum(first.values()) > self.seconds else warm_ups - 1):
            for work in works.values():
                self.once(work)
        times = {name: [] for name in works}
        total = 0
        while len(next(iter(times.values()))) < runs:
            for name, work in works.items():
                times[name].append(self.once(work))
                total += times[name][-1]
            if total > self.seconds and len(times[name]) >= 3:
                break
        return {name: statistics.median(values) for name, values in times.items()}


def measured_copy_rate(timer):
    source = torch.empty(1 << 31, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.numel() / min(timer.once(lambda: target.copy_(source)) for _ in range(7))


def make_tensors(case, mode, layout, bias):
    generator = torch.Generator("cuda").manual_seed(1)

    def tensor(*shape):
        values = torch.empty(shape, device="cuda").uniform_(-1, 1, generator=generator)
        return values.to(DTYPES[mode])

    x = tensor(case.batch, case.in_channels, *case.extent).contiguous(memory_format=FORMATS[layout])
    w = tensor(case.in_channels, case.out_channels // case.groups, *case.kernel)
    return x, w, tensor(case.out_channels) if bias else None


def torch_layer(case, tensors, layout):
    x, w, bias = tensors
    w = w.contiguous(memory_format=FORMATS[layout])
    arguments = case.stride, case.padding, case.output_padding, case.groups, case.dilation
    return lambda: torch.nn.functional.conv_transpose3d(x, w, bias, *arguments)


def largest_difference(result, peer):
    return ((result - peer).abs().max() / peer.abs().max()).item()


def time_case(case, mode, options, ct3d, timer):
    """Times by "bare" or "bias", side and layout."""
    torch.backends.cudnn.allow_tf32 = mode == "tf32"
    result = {"times_ms": {}, "errors": {}}
    for bias in options.bias:
        label = "bias" if bias == "1" else "bare"
        works, layers = {}, []
        for layout in LAYOUTS:
            tensors = make_tensors(case, mode, layout, bias == "1")
            if not options.skip_peer:
                works[f"torch_{layout}"] = torch_layer(case, tensors, layout)
            try:
                layers.append(Ct3dLayer(ct3d, case, mode, tensors, layout, options.kernel))
                works[f"ct3d_{layout}"] = layers[-1]
                result[f"kernel_{layout}"] = layers[-1].kernel
            except RuntimeError as error:
                result["errors"][f"ct3d_{layout}"] = str(error)
        for name in list(works):
            try:
                works[name]()
                torch.cuda.synchronize()
            except RuntimeError as error:
                result["errors"][name] = str(error).splitlines()[0]
                del works[name]
        for layout in LAYOUTS:
            if {f"torch_{layout}", f"ct3d_{layout}"} <= works.keys():
                pair = [works[f"{side}_{layout}"]().double() for side in ("ct3d", "torch")]
                result[f"difference_{layout}"] = largest_difference(*pair)
                del pair
        if works:
            times = timer.medians(works)
            result["times_ms"][label] = {name: 1e3 * seconds for name, seconds in times.items()}
        for layer in layers:
            layer.close()
    return result


def summarise(case, mode, rates, result):
    element = torch.empty(0, dtype=DTYPES[mode]).element_size()
    floors = {
        "memory": element * case.elements() / rates["copy"],
        "flop": case.flop() / rates[mode] if mode in rates else 0,
        "launch": rates.get("launch", 0),
    }
    result["floor_ms"] = 1e3 * max(floors.values())
    result["bound"] = max(floors, key=floors.get)
    for label, times in result["times_ms"].items():
        peers = [times[name] for name in times if name.startswith("torch_")]
        for layout in LAYOUTS:
            if f"ct3d_{layout}" in times:
                time_ms = times[f"ct3d_{layout}"]
                result[f"floor_ratio_{label}_{layout}"] = time_ms / result["floor_ms"]
                if peers:
                    result[f"peer_ratio_{label}_{layout}"] = min(peers) / time_ms
    return result


def print_header(options):
    print(f"{'case':10} {'mode':5} {'bound':6} {'floor':>8}", end="")
    for bias in options.bias:
        label = "bias" if bias == "1" else "bare"
        print(f" | {label + ' torch c':>12} {'l':>8} {'ct3d c':>8} {'l':>8}", end="")
        print(f" {'x floor':>7} {'l':>6} {'torch/c':>7} {'l':>6}", end="")
    print(" | kernels c, l", flush=True)


def number(value, width, digits):
    return " " * (width - 1) + "-" if value is None else f"{value:{width}.{digits}f}"


def print_row(case, mode, options, r):
    print(f"{case.name:10} {mode:5} {r['bound']:6} {r['floor_ms']:8.3f}", end="")
    for bias in options.bias:
        label = "bias" if bias == "1" else "bare"
        times = r["times_ms"].get(label, {})
        columns = [("torch_ncdhw", 12), ("torch_ndhwc", 8), ("ct3d_ncdhw", 8), ("ct3d_ndhwc", 8)]
        row = [number(times.get(name), width, 3) for name, width in columns]
        for ratio, widths in (("floor", (7, 6)), ("peer", (7, 6))):
            row += [number(r.get(f"{ratio}_ratio_{label}_{l}"), w, 2) for l, w in zip(LAYOUTS, widths)]
        print(" | " + " ".join(row), end="")
    print(f" | {r.get('kernel_ncdhw', '-')}, {r.get('kernel_ndhwc', '-')}", flush=True)
    for name, error in r["errors"].items():
        print(f"    {name}: {error}", flush=True)


def print_means(options, rows):
    for mode in options.modes:
        for bias in options.bias:
            label = "bias" if bias == "1" else "bare"
            means = []
            for kind in ("floor", "peer"):
                for layout in LAYOUTS:
                    key = f"{kind}_ratio_{label}_{layout}"
                    values = [row[key] for row in rows if row["mode"] == mode and key in row]
                    if values:
                        text = "times the floor" if kind == "floor" else "times as fast as torch"
                        means.append(f"{layout} {statistics.geometric_mean(values):.2f} {text} ({len(values)})")
            if means:
                print(f"geometric mean, {mode}, {label}: " + "; ".join(means))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="build/src/libct3d.so")
    parser.add_argument("--cases", default="tests/cases/suite.txt", metavar="FILE")
    parser.add_argument("--only", metavar="NAMES", help="of cases, with commas")
    parser.add_argument("--modes", default=",".join(MODES), help="of %(default)s")
    parser.add_argument("--bias", default="0,1", help="0 bare, 1 with bias; default %(default)s")
    parser.add_argument("--kernel", help="a ct3d kernel by name; default the plan's own choice")
    parser.add_argument("--skip-peer", action="store_true", help="time ct3d alone")
    parser.add_argument("--case-seconds", type=float, default=0.15,
                        help="of timed work after which 3 runs are enough; default %(default)s")
    parser.add_argument("--budget", type=float, default=570, help="seconds after which no case is begun")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    options.modes = options.modes.split(",")
    options.bias = options.bias.split(",")
    if not set(options.modes) <= set(MODES) or not set(options.bias) <= {"0", "1"}:
        parser.error("unknown mode or bias")
    return options


def read_cases(options):
    with open(options.cases) as file:
        lines = [line.split("#")[0].strip() for line in file]
    cases = [Case(line) for line in lines if line]
    names = options.only.split(",") if options.only else [case.name for case in cases]
    if unknown := set(names) - {case.name for case in cases}:
        sys.exit(f"bench_torch.py: no case {', '.join(sorted(unknown))} in {options.cases}")
    return [case for case in cases if case.name in names]


def main():
    started = time.monotonic()
    options = parse_arguments()
    cases = read_cases(options)
    torch.backends.cudnn.benchmark = True
    ct3d, timer = Ct3d(options.library), Timer(options.case_seconds)
    device = torch.cuda.get_device_name()
    rates = dict(RECORDED.get(device, {}))
    rates["copy"] = max(rates.get("copy", 0), measured_copy_rate(timer))
    document = {
        "device": device,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "versions": {"ct3d": ct3d.version(), "torch": torch.__version__, "cuda": torch.version.cuda,
                     "cudnn": torch.backends.cudnn.version()},
        "command": " ".join(sys.argv),
        "rates": rates,
        "cases": [],
    }
    print(f"{device}, {document['versions']}, copy {rates['copy'] / 1e12:.2f} TB/s; times in ms, c NCDHW, l NDHWC")
    print_header(options)
    left_out = []
    with torch.no_grad():
        for case in cases:
            for mode in options.modes:
                if time.monotonic() - started > options.budget:
                    left_out.append(f"{case.name} {mode}")
                    continue
                result = summarise(case, mode, rates, time_case(case, mode, options, ct3d, timer))
                document["cases"].append({"name": case.name, "mode": mode, **result})
                print_row(case, mode, options, document["cases"][-1])
                if options.json:
                    with open(options.json, "w") as file:
                        json.dump(document, file, indent=1)
    print_means(options, document["cases"])
    if left_out:
        print(f"left out, over {options.budget:.0f} s: {', '.join(left_out)}")
    return 1 if left_out or any("ct3d" in name for row in document["cases"] for name in row["errors"]) else 0


if __name__ == "__main__":
    sys.exit(main())
