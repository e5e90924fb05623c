#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns a CUDA source into host C++ that registers its kernels: preprocessed by the host's compiler, then rewritten.

rewrite.py SOURCE OUTPUT DEPFILE STANDINS COMPILER...   The .cuh files in the folder STANDINS take the place of those of
the same names beside SOURCE.
"""

import os
import re
import subprocess
import sys
import tempfile


def mirror(source, standins, folder):
    """The folder of the source, and the one above, as links: quoted includes look beside the file that has them."""
    here = os.path.dirname(source)
    os.mkdir(os.path.join(folder, "cuda"))
    for origin, copy in ((os.path.dirname(here), folder), (here, os.path.join(folder, "cuda"))):
        for name in os.listdir(origin):
            path, standin = os.path.join(origin, name), os.path.join(standins, name)
            if os.path.isfile(path):
                replaced = name.endswith(".cuh") and os.path.isfile(standin)
                os.symlink(standin if replaced else path, os.path.join(copy, name))


def preprocess(source, depfile, output, standins, compiler):
    with tempfile.TemporaryDirectory() as folder:
        mirror(source, standins, folder)
        copy = os.path.join(folder, "cuda", os.path.basename(source))
        text = subprocess.run(compiler + ["-x", "c++", "-E", "-MD", "-MF", depfile, "-MT", output, copy], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        with open(depfile) as file:
            rules = file.read()
        links = re.findall(re.escape(folder) + r"[^\s\\]*", rules)
        for link in sorted(set(links), key=len, reverse=True):
            real = os.path.realpath(link)
            rules = rules.replace(link, real)
            text = text.replace('"%s"' % link, '"%s"' % real)
    with open(depfile, "w") as file:
        file.write(rules)
    return text


alignment = r"((?:alignas|__align__|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)\s*)?"
dynamic = re.compile(r"\bextern\s+" + alignment + r"__shared__\s+" + alignment + r"([^;]*?)(\w+)\s*\[\s*\]\s*;")
static = re.compile(alignment + r"(?:\bstatic\s+)?\b__shared__\s+" + alignment +
                    r"([^;{}]*?)(\w+)\s*((?:\[[^\]]*\]\s*)*);")
kernel = re.compile(r"\b__global__\b[^;{}]*?\b(ct3d_\w+)\s*\(")


def rewrite(text):
    kernels = sorted(set(kernel.findall(text)))
    text = dynamic.sub(r"\3 *const \4 = reinterpret_cast<\3 *>(::standin::dynamic_shared());", text)
    text = static.sub(r"\1\2static \3 \4 \5; ::standin::use_shared(&\4, sizeof(\4));", text)
    text = re.sub(r"\b__global__\b", "", text)
    if "__shared__" in text:
        sys.exit("a declaration with __shared__ is not understood")
    if not kernels:
        sys.exit("no kernel is in the source")
    line = 'static const standin::Registration of_{0}("{0}", standin::call<{0}>, standin::params_bytes<{0}>);\n'
    return text + "\nnamespace ct3d::cuda {\n" + "".join(line.format(name) for name in kernels) + "}\n"


def main():
    source, output, depfile, standins = sys.argv[1:5]
    text = rewrite(preprocess(os.path.abspath(source), depfile, output, os.path.abspath(standins), sys.argv[5:]))
    with open(output, "w") as file:
        file.write(text)


main()
