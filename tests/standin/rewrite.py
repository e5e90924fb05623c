#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns a device source into host C++ that registers its kernels: preprocessed by the host's compiler, then rewritten.

rewrite.py SOURCE OUTPUT DEPFILE SOURCES FOLDERS STANDINS COMPILER...   Quoted includes are looked for in FOLDERS, names
of folders in SOURCES with commas between them. The .cuh files in the folder STANDINS take the place of those of the
same names there.
"""

import os
import re
import subprocess
import sys
import tempfile


def mirror(sources, folders, standins, copies):
    """The folders, and the one that has them, as links: quoted includes look beside the file that has them first."""
    for origin, copy in [(sources, copies)] + [(os.path.join(sources, f), os.path.join(copies, f)) for f in folders]:
        os.makedirs(copy, exist_ok=True)
        for name in os.listdir(origin):
            path, standin = os.path.join(origin, name), os.path.join(standins, name)
            if os.path.isfile(path):
                replaced = name.endswith(".cuh") and os.path.isfile(standin)
                os.symlink(standin if replaced else path, os.path.join(copy, name))


def preprocess(source, depfile, output, sources, folders, standins, compiler):
    with tempfile.TemporaryDirectory() as copies:
        mirror(sources, folders, standins, copies)
        copy = os.path.join(copies, os.path.relpath(source, sources))
        includes = ["-I" + os.path.join(copies, folder) for folder in folders]
        text = subprocess.run(compiler + includes + ["-x", "c++", "-E", "-MD", "-MF", depfile, "-MT", output, copy],
                              check=True, stdout=subprocess.PIPE, text=True).stdout
        with open(depfile) as file:
            rules = file.read()
        links = re.findall(re.escape(copies) + r"[^\s\\]*", rules)
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
namespace = re.compile(r"\bnamespace\s+(ct3d::\w+)")


def rewrite(text):
    kernels, namespaces = sorted(set(kernel.findall(text))), sorted(set(namespace.findall(text)))
    text = dynamic.sub(r"\3 *const \4 = reinterpret_cast<\3 *>(::standin::dynamic_shared());", text)
    text = static.sub(r"\1\2static \3 \4 \5; ::standin::use_shared(&\4, sizeof(\4));", text)
    text = re.sub(r"\b__global__\b", "", text)
    if "__shared__" in text:
        sys.exit("a declaration with __shared__ is not understood")
    if not kernels:
        sys.exit("no kernel is in the source")
    line = 'static const standin::Registration of_{0}("{0}", standin::call<{0}>, standin::params_bytes<{0}>);\n'
    uses = "".join("using namespace %s;\n" % name for name in namespaces)
    return text + "\n" + uses + "".join(line.format(name) for name in kernels)


def main():
    source, output, depfile, sources, folders, standins = sys.argv[1:7]
    text = rewrite(preprocess(os.path.abspath(source), depfile, output, os.path.abspath(sources), folders.split(","),
                              os.path.abspath(standins), sys.argv[7:]))
    with open(output, "w") as file:
        file.write(text)


main()
