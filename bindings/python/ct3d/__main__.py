# SPDX-License-Identifier: MIT
"""`python -m ct3d` prints what `ct3d info` prints: version, backends, devices, why one is absent."""

from __future__ import annotations

import ctypes

from ._library import check, initialised, lib, version
from ._structs import Backend, CBackendInfo, CDeviceInfo


def _device_line(info: CDeviceInfo) -> str:
    line = f"  {info.device}: {info.name.decode(errors='replace')}, {info.arch.decode()}, "
    line += f"{info.compute_units} compute units, {info.memory / 2**30:.1f} GiB"
    return line + (f", last-level cache {info.last_level_cache / 2**20:.0f} MiB" if info.last_level_cache else "")


def _backend_lines(backend: Backend) -> list[str]:
    info = initialised(CBackendInfo)
    check(lib.ct3d_get_backend_info(backend, ctypes.byref(info)))
    title = " ".join(part.decode(errors="replace") for part in (info.name, info.version) if part)
    if not info.device_count:
        return [f"{title}: none: {info.reason.decode(errors='replace')}"]
    lines = [title]
    for device in range(info.device_count):
        device_info = initialised(CDeviceInfo)
        check(lib.ct3d_get_device_info(backend, device, ctypes.byref(device_info)))
        lines.append(_device_line(device_info))
    return lines


def main() -> None:
    lines = [f"ct3d {version()}"]
    for backend in Backend:
        lines += _backend_lines(backend)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
