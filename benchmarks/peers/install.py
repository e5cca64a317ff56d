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
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE / ".installed"
VERSIONS = tomllib.loads((HERE / "versions.toml").read_text())
_RESOLVE = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder.config("spark.jars.packages", sys.argv[1]).config("spark.jars.ivy", sys.argv[2]).getOrCreate().stop()
"""
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
    found = _jars()
    jars = [found[which["artifact"]] for which in VERSIONS["esper"]]
    classes, source = FOLDER / "classes", HERE / "EsperPeer.java"
    made = classes / "EsperPeer.class"
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        compiler = found[VERSIONS["compiler"]["artifact"]]
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


def _jars() -> dict[str, Path]:
    """The jars of versions.toml by artifact, each with the content that it names there."""
    wanted = [*VERSIONS["esper"], VERSIONS["compiler"]]
    folder = FOLDER / "jars"
    paths = {which["artifact"]: folder / f"{which['artifact']}-{which['version']}.jar" for which in wanted}
    missing = [which for which in wanted if not paths[which["artifact"]].exists()]
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        _resolve(missing)
        for which in missing:
            # Ivy names a jar by its group as well.
            path = paths[which["artifact"]]
            shutil.copyfile(FOLDER / "ivy" / "jars" / f"{which['group']}_{path.name}", path)
    for which in wanted:
        _check(paths[which["artifact"]], which["sha256"])
    return paths


def _resolve(wanted: list[dict[str, str]]) -> None:
    """Ivy, which comes with Spark, fetches what it is told and what that needs, from where it is set up to look."""
    packages = ",".join(f"{which['group']}:{which['artifact']}:{which['version']}" for which in wanted)
    print(f"fetching {packages.replace(',', ', ')}", flush=True)
    # In a process of its own: what Spark has loaded stays in it.
    done = subprocess.run([sys.executable, "-c", _RESOLVE, packages, str(FOLDER / "ivy")], check=False)
    if done.returncode:
        sys.exit("the jars could not be fetched: see what Ivy says above")


def _check(jar: Path, sha256: str) -> None:
    found = hashlib.sha256(jar.read_bytes()).hexdigest()
    if found != sha256:
        sys.exit(f"{jar.name} has the checksum {found}, versions.toml expects {sha256}")
