#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what bench_torch.py wrote: for each case, the times of cuDNN and ct3d over the least that the device allows."""

import argparse
import json

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

TITLES = {"tf32": "TF32", "f16": "f16", "bf16": "bf16", "f32": "f32 at full accuracy"}
SERIES = (
    ("cuDNN, its better layout", "#b0b0b0", lambda times: min(peer_times(times), default=None)),
    ("ct3d, NCDHW", "#1f77b4", lambda times: times.get("ct3d_ncdhw")),
    ("ct3d, NDHWC", "#7fb8e0", lambda times: times.get("ct3d_ndhwc")),
)


def peer_times(times):
    return [value for name, value in times.items() if name.startswith("torch_")]


def draw_mode(axes, title, label, rows):
    width = 0.8 / len(SERIES)
    for i, (name, colour, select) in enumerate(SERIES):
        heights = []
        for row in rows:
            time_ms = select(row["times_ms"].get(label, {}))
            heights.append(time_ms / row["floor_ms"] if time_ms else 0)
        positions = [number + (i - (len(SERIES) - 1) / 2) * width for number in range(len(rows))]
        axes.bar(positions, heights, width, color=colour, label=name)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.8)
    axes.yaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.set_ylabel("time / floor")
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xticks(range(len(rows)), [row["name"] for row in rows], rotation=45, ha="right", fontsize=8)
    axes.margins(x=0.01)
    axes.grid(axis="y", linewidth=0.4)
    axes.set_axisbelow(True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", metavar="JSON")
    parser.add_argument("picture", metavar="PICTURE", help="a .svg or .png file")
    parser.add_argument("--modes", default="tf32,f16", help="with commas; default %(default)s")
    parser.add_argument("--label", default="bare", choices=("bare", "bias"), help="default %(default)s")
    options = parser.parse_args()
    with open(options.json) as file:
        document = json.load(file)
    modes = options.modes.split(",")
    figure, axes = pyplot.subplots(len(modes), 1, figsize=(9, 2.9 * len(modes)), squeeze=False)
    for plot, mode in zip(axes[:, 0], modes):
        rows = [case for case in document["cases"] if case["mode"] == mode]
        draw_mode(plot, TITLES.get(mode, mode), options.label, rows)
    axes[0, 0].legend(fontsize=8, ncols=len(SERIES), loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
    versions = document["versions"]
    figure.text(0.01, 0.005, f"{document['device']}, {document['date'][:10]}, ct3d {versions['ct3d']}, "
                f"cuDNN {versions['cudnn']}", fontsize=7)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    figure.savefig(options.picture, dpi=150)


if __name__ == "__main__":
    main()
