#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times layers and a whole model in PyTorch before and after ct3d.torch.replace, on one GPU, and compares the results.

Layers: the seven transposed 3-D convolutions of KernelBench's level 1, as written there: contiguous input, no bias.
Model: the plain U-Net of nnU-Net, six stages, patches of 128^3, batch 2: inference, and a training step of forward,
backward and optimizer. "tf32" is PyTorch's default for convolutions, "fp32" forbids it, "f16" is autocast. Every time
is the median of CUDA-event times with a cold L2, both sides in turns.
"""

import argparse
import copy
import datetime
import json
import statistics
import sys

import torch
from torch import nn

import ct3d
import ct3d.torch
from bench_torch import Case, Timer, largest_difference

SIDES = ("torch", "ct3d")
LOSS_SCALE = 2.0**14  # f16 has no small gradients


def conv_block(inputs, outputs, stride):
    layers = []
    for channels, step in ((inputs, stride), (outputs, 1)):
        layers += [nn.Conv3d(channels, outputs, 3, step, 1), nn.InstanceNorm3d(outputs, affine=True)]
        layers.append(nn.LeakyReLU(0.01))
    return nn.Sequential(*layers)


class PlainUNet(nn.Module):
    """nnU-Net's plain architecture: two convolutions a stage, strided ones down, kernel = stride = 2 up."""

    features = (32, 64, 128, 256, 320, 320)

    def __init__(self, inputs=1, classes=3):
        super().__init__()
        f = self.features
        self.down = nn.ModuleList(
            conv_block(f[i - 1] if i else inputs, f[i], 2 if i else 1) for i in range(len(f))
        )
        levels = range(len(f) - 1, 0, -1)
        self.up = nn.ModuleList(nn.ConvTranspose3d(f[i], f[i - 1], 2, 2) for i in levels)
        self.blocks = nn.ModuleList(conv_block(2 * f[i - 1], f[i - 1], 1) for i in levels)
        self.head = nn.Conv3d(f[0], classes, 1)

    def forward(self, x):
        skips = []
        for stage in self.down:
            x = stage(x)
            skips.append(x)
        skips.pop()
        for up, block in zip(self.up, self.blocks):
            x = block(torch.cat((up(x), skips.pop()), 1))
        return self.head(x)


class Precision:
    """While it lasts, convolutions are of this precision."""

    def __init__(self, name):
        self.tf32 = name == "tf32"
        self.autocast = torch.autocast("cuda", torch.float16, enabled=name == "f16")

    def __enter__(self):
        torch.backends.cudnn.allow_tf32 = self.tf32
        self.autocast.__enter__()

    def __exit__(self, *error):
        self.autocast.__exit__(*error)


def replaced(model):
    return ct3d.torch.replace(copy.deepcopy(model), allow_tf32="cudnn")


def report(name, precision, times, difference):
    row = {"name": name, "precision": precision, "difference": difference,
           **{f"{side}_ms": 1e3 * times[side] for side in SIDES}}
    print(f"{name:24} {precision:5} {row['torch_ms']:9.3f} {row['ct3d_ms']:9.3f} "
          f"{row['torch_ms'] / row['ct3d_ms']:6.2f} {difference:9.1e}", flush=True)
    return row


def time_layer(case, precision, timer):
    layer = nn.ConvTranspose3d(case.in_channels, case.out_channels, case.kernel, case.stride, case.padding,
                               case.output_padding, case.groups, False, case.dilation).cuda()
    layers = dict(zip(SIDES, (layer, replaced(layer))))
    x = torch.rand(case.batch, case.in_channels, *case.extent, device="cuda")
    with Precision(precision), torch.inference_mode():
        works = {side: lambda layer=layer: layer(x) for side, layer in layers.items()}
        results = {side: work() for side, work in works.items()}
        return report(case.name, precision, timer.medians(works), largest_difference(results["ct3d"], results["torch"]))


def time_inference(models, x, precision, timer):
    with Precision(precision), torch.inference_mode():
        works = {side: lambda model=model: model(x) for side, model in models.items()}
        results = {side: work().float() for side, work in works.items()}
        difference = largest_difference(results["ct3d"], results["torch"])
        return report("U-Net, inference", precision, timer.medians(works), difference)


def time_training(models, x, precision, timer):
    """The difference is that of the gradient of the first layer of the encoder, of the first step."""
    def step(model, optimizer):
        optimizer.zero_grad()
        with Precision(precision):
            loss = LOSS_SCALE * model(x).float().square().mean()
        loss.backward()
        optimizer.step()

    works = {side: lambda m=model, o=torch.optim.SGD(model.parameters(), 1e-4): step(m, o)
             for side, model in models.items()}
    gradients = {}
    for side, work in works.items():
        work()
        gradients[side] = next(models[side].parameters()).grad.clone()
    difference = largest_difference(gradients["ct3d"], gradients["torch"])
    return report("U-Net, training step", precision, timer.medians(works), difference)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="tests/cases/suite.txt", metavar="FILE")
    parser.add_argument("--patch", type=int, default=128, help="default %(default)s")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    timer = Timer(0.3)
    document = {
        "device": torch.cuda.get_device_name(),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "versions": {"ct3d": ct3d.__version__, "torch": torch.__version__, "cuda": torch.version.cuda,
                     "cudnn": torch.backends.cudnn.version()},
        "command": " ".join(sys.argv),
        "rows": [],
    }
    rows = document["rows"]
    print(f"{'':30} {'torch ms':>9} {'ct3d ms':>9} {'ratio':>6} {'difference':>9}")
    with open(options.cases) as file:
        cases = [Case(line.split("#")[0]) for line in file if line.startswith("kb1-")]
    for case in cases:
        if case.name != "kb1-73g":  # not one of KernelBench's
            rows += [time_layer(case, precision, timer) for precision in ("tf32", "fp32")]
    torch.cuda.empty_cache()
    model = PlainUNet().cuda()
    models = dict(zip(SIDES, (model, replaced(model))))
    x = torch.rand(2, 1, *[options.patch] * 3, device="cuda")
    for precision in ("tf32", "f16"):
        rows.append(time_inference(models, x, precision, timer))
        rows.append(time_training(models, x, precision, timer))
    layers = [row["torch_ms"] / row["ct3d_ms"] for row in rows if row["name"].startswith("kb1-")]
    print(f"geometric mean of the layers: {statistics.geometric_mean(layers):.2f} times as fast")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(document, file, indent=1)


if __name__ == "__main__":
    main()
