"""The machine: its cores, the assignment of client and server to them, and the versions of installed packages."""

import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("llm-mockserver", "uvicorn", "starlette", "uvloop", "httptools", "orjson", "jsonschema-rs")


def cores() -> list[int]:
    """The cores that this process may use; empty if the system does not report them."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


# The cores that were available before the client was pinned to one.
_ALL = cores()
_SERVER, _CLIENT = ({_ALL[0]}, {_ALL[-1]}) if len(_ALL) > 1 else (set(_ALL), set(_ALL))


def pin_client() -> None:
    """Pin this process, the load client, to the last core, and raise its limit of open files to the maximum."""
    if _ALL:
        os.sched_setaffinity(0, _CLIENT)
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most if most != resource.RLIM_INFINITY else 65_536, most))


def pin_server() -> None:
    """Pin this process, a server that was just forked, to the first core."""
    if _ALL:
        os.sched_setaffinity(0, _SERVER)


def unpin() -> None:
    """Let this process use every core again."""
    if _ALL:
        os.sched_setaffinity(0, _ALL)


Pin = Callable[[], None]


def about() -> dict[str, str]:
    """The machine and the versions on which the figures depend, by name."""
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
