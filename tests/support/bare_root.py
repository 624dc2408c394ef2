"""A bare root: a folder with the files of a slim Python image, in which commands are run as in a container.

It replaces a container engine. A command gets namespaces of its own (mounts, processes, network), has the folder as its
root, and is the first process there. This requires Linux and the rights of root.
"""

import fcntl
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

TOOLS = ("sh", "mkdir", "chown", "rm")
# Libraries that compiled packages rely on, and every slim image has.
LIBRARIES = (
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "libutil.so.1",
)
_OMITTED = ("test", "idlelib", "tkinter", "turtledemo", "site-packages", "__pycache__")
_APART = ("unshare", "--mount", "--pid", "--net", "--fork", "--kill-child")


def why_not() -> str | None:
    """Why no bare root is possible on this machine; None if one is."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a bare root takes Linux and the rights of root"
    if shutil.which("unshare") is None or subprocess.run([*_APART, "true"], capture_output=True).returncode:
        return "this system lets nobody have namespaces"
    return None


def make_base(root: Path) -> None:
    """Fill a folder with this Python under /usr/local, pip beside it, a shell, and the libraries that they need."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = Path(os.__file__).parent
    inside = root / "usr/local/lib" / version
    shutil.copytree(library, inside, ignore=shutil.ignore_patterns(*_OMITTED))
    (inside / "site-packages").mkdir()
    for part in (library / "site-packages").glob("pip*"):
        shutil.copytree(part, inside / "site-packages" / part.name, ignore=shutil.ignore_patterns("__pycache__"))
    binaries = root / "usr/local/bin"
    binaries.mkdir()
    python = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]
    shutil.copy2(python, binaries / version)
    for name in ("python", "python3"):
        (binaries / name).symlink_to(version)
    for name in TOOLS:
        _copy(Path(shutil.which(name) or name), root, f"bin/{name}")
    needed = [python, *library.glob("lib-dynload/*.so"), *(Path(shutil.which(name) or name) for name in TOOLS)]
    for path in sorted({*(path for each in needed for path in _libraries(each)), *_common_libraries()}):
        _copy(path, root, str(path)[1:])
    _furnish(root)


def run(root: Path, command: Sequence[str], variables: Mapping[str, str], **how: str) -> None:
    """Run a command to its end, with the rights of root. Raises CalledProcessError if it fails."""
    subprocess.run(_command(root, command, **how), env={**variables}, check=True, capture_output=True, text=True)


def start(root: Path, command: Sequence[str], variables: Mapping[str, str], **how: str) -> "subprocess.Popen[str]":
    """Start a command; `process_of` gives its first process."""
    return subprocess.Popen(
        _command(root, command, **how), env={**variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def process_of(started: "subprocess.Popen[str]") -> int:
    """The process id, outside of its namespaces, of a started command. Raises LookupError before it has one."""
    told = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
    if not told:
        raise LookupError("the command has no process yet")
    return int(told[0])


def inside(process: int, command: Sequence[str], user: str) -> list[str]:
    """The command to run another command in the root and the network of a process, as a user."""
    place = ("nsenter", f"--target={process}", "--mount", "--pid", "--net", "--root", "--wd")
    return [*place, f"--setuid={user}", f"--setgid={user}", "--", *command]


def _command(root: Path, command: Sequence[str], user: str = "0", work: str = "/", readonly: str = "") -> list[str]:
    return [*_APART, sys.executable, __file__, str(root), user, work, readonly, *command]


def _libraries(path: Path) -> list[Path]:
    told = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    return [Path(found) for found in re.findall(r"(/\S+) \(0x", told)]


def _common_libraries() -> list[Path]:
    told = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    found = {name: Path(path) for name, path in reversed(re.findall(r"^\s+(\S+) \(libc6.*\) => (\S+)$", told, re.M))}
    return [found[name] for name in LIBRARIES if name in found]


def _copy(source: Path, root: Path, place: str) -> None:
    target = root / place
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source.resolve(), target)


def _furnish(root: Path) -> None:
    """Add what every root has: users, devices, and a folder for temporary files."""
    for folder in ("dev", "etc", "proc", "root", "tmp"):
        (root / folder).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n")
    for name, minor in (("null", 3), ("zero", 5), ("random", 8), ("urandom", 9)):
        os.mknod(root / "dev" / name, 0o020666, os.makedev(1, minor))
        (root / "dev" / name).chmod(0o666)


def _enter(root: str, user: str, work: str, readonly: str, *command: str) -> None:
    """In the new namespaces: make the folder the root, become the user, and execute the command."""
    subprocess.run(["mount", "--bind", root, root], check=True)
    subprocess.run(["mount", "-t", "proc", "proc", f"{root}/proc"], check=True)
    if readonly:
        subprocess.run(["mount", "-o", "remount,bind,ro", root], check=True)
    raise_loopback()
    os.chroot(root)
    os.chdir(work)
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
    os.execvpe(command[0], command, os.environ)


def raise_loopback() -> None:
    """Bring up the loopback interface, which is down in a new network."""
    request = struct.pack("16sh14x", b"lo", 0x1 | 0x40)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, request)


if __name__ == "__main__":
    _enter(*sys.argv[1:])
