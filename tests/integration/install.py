"""Names of packages in, their jars out: fetched once, by the Ivy of Spark, into a folder that git does not see."""

from __future__ import annotations

import os
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
