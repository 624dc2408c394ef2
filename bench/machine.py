"""The machine: its cores, who runs on which of them, and what is installed on it."""

import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("llm-mockserver", "uvicorn", "starlette", "uvloop", "httptools", "orjson", "jsonschema-rs")


def cores() -> list[int]:
    """The cores that this process may use; none where the system does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


# What was free before the client took a core for itself.
_ALL = cores()
_SERVER, _CLIENT = ({_ALL[0]}, {_ALL[-1]}) if len(_ALL) > 1 else (set(_ALL), set(_ALL))


def pin_client() -> None:
    """Keep this process, the load client, to the last core, and let it have as many files as the system allows."""
    if _ALL:
        os.sched_setaffinity(0, _CLIENT)
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most if most != resource.RLIM_INFINITY else 65_536, most))


def pin_server() -> None:
    """Keep this process, a server that was just forked, to the first core."""
    if _ALL:
        os.sched_setaffinity(0, _SERVER)


def unpin() -> None:
    """Let this process use every core again."""
    if _ALL:
        os.sched_setaffinity(0, _ALL)


Pin = Callable[[], None]


def about() -> dict[str, str]:
    """The machine and the versions that figures depend on, by name."""
    pinned = f"server on core {min(_SERVER)}, client on core {min(_CLIENT)}" if len(_ALL) > 1 else "not pinned"
    return {
        "machine": f"{_processor()}, {len(_ALL) or os.cpu_count()} cores ({pinned}), {_memory()}",
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        **{name: found for name in _PACKAGES if (found := _version(name))},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "memory unknown"
    return f"{size / 2**30:.0f} GB"
