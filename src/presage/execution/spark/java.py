"""The Java installation that Spark runs on: finds a Java 17 or later, or raises an error with what to install.

`python -m presage.execution.spark.java` prints the folder; `scripts/java.sh` is built on it.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from presage.errors import PresageError, error

NEEDED = 17
# Where installers put Java without telling PATH: Debian and Fedora, then Homebrew on both kinds of Mac.
HOMES = ("/usr/lib/jvm/*", "/opt/homebrew/opt/openjdk*", "/usr/local/opt/openjdk*")
MAC_FINDER = Path("/usr/libexec/java_home")
INSTALLERS = {
    "apt-get": "sudo apt-get install openjdk-17-jre-headless",
    "dnf": "sudo dnf install java-17-openjdk-headless",
    "zypper": "sudo zypper install java-17-openjdk-headless",
    "pacman": "sudo pacman -S jre17-openjdk-headless",
    "apk": "sudo apk add openjdk17-jre-headless",
    "brew": "brew install openjdk@17",
}
_RELEASE = re.compile(r'^JAVA_VERSION="([^"]+)"', re.MULTILINE)
_SETTING = re.compile(r"^\s*(java\.home|java\.specification\.version) = (.+?)\s*$", re.MULTILINE)


class Java(NamedTuple):
    """An installed Java: its home folder and its version, 8 for what calls itself 1.8."""

    home: Path
    version: int


def find_java() -> Path:
    """The home folder of the first Java that is recent enough: JAVA_HOME, PATH, then the usual folders."""
    too_old: list[Java] = []
    for command in _candidates():
        java = _examine(command)
        if java is None:
            continue
        if java.version >= NEEDED:
            return java.home
        if java not in too_old:
            too_old.append(java)
    found = [f"found Java {java.version} at {java.home}" for java in too_old]
    chosen = os.environ.get("JAVA_HOME")
    if chosen and not (Path(chosen) / "bin" / "java").is_file():
        found.append(f"JAVA_HOME is '{chosen}', which has no bin/java")
    raise error("NO_JAVA", detail=f" ({', '.join(found)})" if found else "", fix=_how_to_install())


def _candidates() -> Iterator[Path]:
    """Paths of `java` commands, best first; some of them do not exist."""
    chosen = os.environ.get("JAVA_HOME")
    if chosen:
        yield Path(chosen) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path)
    for pattern in HOMES:
        # Sorted names put older versions first, mostly: those that Spark has supported for longest.
        yield from (Path(home) / "bin" / "java" for home in sorted(glob.glob(pattern)))
    if MAC_FINDER.exists():
        answer = _run([str(MAC_FINDER), "-v", f"{NEEDED}+"])
        if answer and Path(answer.strip()).is_dir():
            yield Path(answer.strip()) / "bin" / "java"


def _examine(command: Path) -> Java | None:
    """The Java behind a command; None if it does not work."""
    if not (command.is_file() and os.access(command, os.X_OK)):
        return None
    home = command.resolve().parent.parent
    release = home / "release"
    if release.is_file():
        # Java 9 and later has this file; reading it saves a tenth of a second at each start.
        stated = _RELEASE.search(release.read_text(errors="replace"))
        if stated:
            return Java(home, _major(stated[1]))
    # Wrappers (jenv, Apple's stub in /usr/bin) are asked where the real one is.
    settings = dict(_SETTING.findall(_run([str(command), "-XshowSettings:properties", "-version"])))
    if len(settings) < 2:
        return None
    return Java(Path(settings["java.home"]), _major(settings["java.specification.version"]))


def _major(version: str) -> int:
    digits = re.match(r"(?:1\.)?(\d+)", version)
    return int(digits[1]) if digits else 0


def _run(command: list[str]) -> str:
    """All that a command prints; nothing if it fails."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace")


def _how_to_install() -> str:
    for installer, command in INSTALLERS.items():
        if shutil.which(installer):
            return f"run: {command}"
    return "install a Java 17 runtime, for example from https://adoptium.net, and set JAVA_HOME to its folder"


def main() -> int:
    try:
        print(find_java())
    except PresageError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
