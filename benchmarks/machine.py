"""The machine that the figures are from."""

import os
import platform
from pathlib import Path
from time import perf_counter
from typing import Any


def described(folder: Path) -> dict[str, Any]:
    """Processor, cores, memory, system, and what one flush costs in the folder where the databases lie."""
    return {
        "processor": _first(Path("/proc/cpuinfo"), "model name") or platform.processor() or platform.machine(),
        "cores": cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_1m": round(os.getloadavg()[0], 2),
        "flush_us": _flush_us(folder),
    }


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _first(file: Path, name: str) -> str | None:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)


def _flush_us(folder: Path, times: int = 200) -> int:
    """The median of appending 4 KiB and flushing them."""
    took: list[float] = []
    with (folder / "flush").open("wb", buffering=0) as file:
        for _ in range(times):
            began = perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            took.append(perf_counter() - began)
    return round(sorted(took)[times // 2] * 1_000_000)


def resident_bytes() -> int:
    """What this process keeps in memory."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0
