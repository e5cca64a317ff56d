"""The installer of the servers that the tests need: it fetches jars and programs once, by the Ivy of Spark, Go and npm,
into a folder that git does not see."""

from __future__ import annotations

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
for name, value in zip(("packages", "excludes", "ivy"), sys.argv[1:]):
    builder = builder.config(f"spark.jars.{name}", value)
builder.getOrCreate().stop()
"""


def jars(part: str) -> list[Path]:
    """The jars of a part of versions.toml, with all that they need."""
    folder = FOLDER / "-".join([part, *(package.rpartition(":")[2] for package in VERSIONS[part]["packages"])])
    done = folder / ".done"
    if not done.exists():
        wanted = VERSIONS[part]
        print(f"fetching {', '.join(wanted['packages'])}", flush=True)
        # In a process of its own: what Spark has loaded stays in it.
        arguments = [",".join(wanted["packages"]), ",".join(wanted["excludes"]), str(folder)]
        told = subprocess.run([sys.executable, "-c", _RESOLVE, *arguments], capture_output=True, text=True, check=False)
        if told.returncode:
            raise RuntimeError(f"the jars of {part} could not be fetched:\n{told.stdout}\n{told.stderr}")
        done.touch()
    return sorted((folder / "jars").glob("*.jar"))


def go_program(part: str) -> Path | None:
    """A program of versions.toml, built by Go; None without Go."""
    package, _, version = VERSIONS[part]["go"].partition("@")
    folder = FOLDER / f"{part}-{version}"
    return _fetched("go", ["install", f"{package}@{version}"], folder, folder / Path(package).name, GOBIN=str(folder))


def npm_program(part: str, program: str) -> Path | None:
    """A program of a package of versions.toml, installed by npm; None without npm."""
    package = VERSIONS[part]["npm"]
    folder = FOLDER / package.replace("@", "-")
    command = ["install", "--silent", "--no-fund", "--no-audit", "--prefix", str(folder), package]
    return _fetched("npm", command, folder, folder / "node_modules" / ".bin" / program)


def _fetched(tool: str, command: list[str], folder: Path, program: Path, **environment: str) -> Path | None:
    if not program.exists():
        if shutil.which(tool) is None:
            return None
        print(f"fetching {command[-1]}", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        told = subprocess.run(
            [tool, *command], env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )
        if told.returncode:
            raise RuntimeError(f"{command[-1]} could not be fetched:\n{told.stdout}\n{told.stderr}")
    return program


def connector() -> str:
    """For `spark.jars`: what a Spark session lacks to speak with Kafka."""
    own = {jar.name.rpartition("-")[0] for jar in spark_jars()}
    found = [jar for part in ("connector", "tokens") for jar in jars(part)]
    # Ivy names a jar by its group as well.
    return ",".join(str(jar) for jar in found if jar.name.partition("_")[2].rpartition("-")[0] not in own)


def broker() -> str:
    """A class path for Kafka's broker; the library of Scala is Spark's."""
    scala = [jar for jar in spark_jars() if jar.name.startswith("scala-library")]
    return os.pathsep.join(map(str, [*jars("broker"), *scala]))


def spark_jars() -> list[Path]:
    import pyspark

    return sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
