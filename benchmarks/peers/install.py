"""Pinned versions in, programs that can be started out: PyFlink in an environment of its own, Esper's jars and a class.

All of it lies in one folder beside this file that git does not see; what is there already is not fetched again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE / ".installed"
CENTRAL = "https://repo1.maven.org/maven2"
VERSIONS = tomllib.loads((HERE / "versions.toml").read_text())
PATIENCE = 120.0  # seconds for a registry to answer
_EXAMINE = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"


def flink_python() -> Path:
    """The Python of an environment that has PyFlink."""
    package = VERSIONS["flink"]["package"]
    environment = FOLDER / package.replace("==", "-")
    python, done = environment / "bin" / "python", environment / ".done"
    if not done.exists():
        print(
            f"installing {package} into {environment.relative_to(HERE.parent.parent)} (850 MB, a few minutes)",
            flush=True,
        )
        subprocess.run([_python_for_flink(), "-m", "venv", "--clear", str(environment)], check=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package],
            check=True,
            env=clean_environment(),
        )
        done.touch()
    return python


def esper_classpath() -> str:
    """Where Java finds Esper and `EsperPeer`, compiled when its source has changed."""
    jars = [_jar(**which) for which in VERSIONS["esper"]]
    classes, source = FOLDER / "classes", HERE / "EsperPeer.java"
    made = classes / "EsperPeer.class"
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        compiler = _jar(**VERSIONS["compiler"])
        path = os.pathsep.join(map(str, jars))
        subprocess.run([java(), "-jar", compiler, "-17", "-cp", path, "-d", classes, source], check=True)
    return os.pathsep.join(map(str, [*jars, classes]))


def java() -> str:
    """The Java that JAVA_HOME names, or the one on the path."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def clean_environment() -> dict[str, str]:
    """The variables of this process without those that would lead another Python to this one's packages."""
    return {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    }


def _python_for_flink() -> str:
    """A Python of a version that PyFlink is published for, this one if it will do."""
    wanted = VERSIONS["flink"]["pythons"]
    for command in (sys.executable, *(f"python{version}" for version in wanted)):
        found = shutil.which(command)
        if found is None:
            continue
        # Shims of version managers are there but may not run.
        answer = subprocess.run([found, "-c", _EXAMINE], capture_output=True, text=True, check=False)
        if answer.returncode == 0 and answer.stdout.strip() in wanted:
            return found
    sys.exit(f"{VERSIONS['flink']['package']} needs Python {', '.join(wanted)}, with venv: install one of them")


def _jar(group: str, artifact: str, version: str, sha256: str) -> Path:
    name = f"{artifact}-{version}.jar"
    target = FOLDER / "jars" / name
    if not target.exists():
        address = f"{CENTRAL}/{group.replace('.', '/')}/{artifact}/{version}/{name}"
        print(f"fetching {name}", flush=True)
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            content: bytes = answer.read()
        _check(content, sha256, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    else:
        _check(target.read_bytes(), sha256, name)
    return target


def _check(content: bytes, sha256: str, name: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        sys.exit(f"{name} has the checksum {found}, versions.toml expects {sha256}")
