"""Prestart of Spark's JVM, to which PySpark connects later. Imports no PySpark.

PySpark starts its JVM after it has been imported. Short commands do both at once, as `spark-submit` does for Python
programs: with the variables PYSPARK_GATEWAY_PORT and PYSPARK_GATEWAY_SECRET.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from presage.errors import error
from presage.execution.spark.java import find_java

PORT, SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
# For jobs of seconds: no second compiler, no threads for garbage collection.
SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
PATIENCE = 120.0


@dataclass
class Jvm:
    """A JVM that is starting. It ends when the pipe to its stdin closes, that is, with this process."""

    process: subprocess.Popen[bytes]
    folder: Path  # of its connection file and its messages
    taken: bool = False  # by a session
    abandoned: bool = False

    def connect(self) -> None:
        """Wait for its connection file, and set the variables for PySpark."""
        info = self.folder / "connection"
        deadline = time.monotonic() + PATIENCE
        while not info.exists():
            if self.abandoned or self.process.poll() is not None or time.monotonic() > deadline:
                raise error("SPARK_NOT_STARTED", why=self._first_error())
            time.sleep(0.02)
        # The file is complete: Spark renames it into place.
        data = info.read_bytes()
        port, length = struct.unpack(">ii", data[:8])
        os.environ[PORT], os.environ[SECRET] = str(port), data[8 : 8 + length].decode()

    def connected(self) -> None:
        """PySpark is connected. A later session of another kind must not find the variables."""
        self.taken = True
        os.environ.pop(PORT, None)
        os.environ.pop(SECRET, None)
        shutil.rmtree(self.folder, ignore_errors=True)

    def abandon(self) -> None:
        """End it if no session has taken it."""
        if not self.taken:
            self.abandoned = True
            # Not killed: it removes its temporary folders itself.
            self.process.terminate()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _first_error(self) -> str:
        messages = self.folder / "messages"
        lines = messages.read_text(errors="replace").split("\n") if messages.exists() else []
        errors = [line.strip() for line in lines if "rror" in line or "xception" in line]
        return errors[0] if errors else f"its JVM ended with code {self.process.returncode}"


# At most one: a process of PySpark connects to one JVM.
_launched: Jvm | None = None


def launch(options: str = "", quiet: bool = False) -> Jvm | None:
    """Start the JVM with these Java options; None where PySpark must start it itself.

    `quiet` redirects its stderr to a file, of which only an error is shown.
    """
    global _launched
    spec = find_spec("pyspark")
    if _launched is not None or PORT in os.environ or spec is None or not spec.submodule_search_locations:
        return None
    if _has_started() or any(name in os.environ for name in ("SPARK_HOME", "SPARK_REMOTE")):
        return None
    prepare_environment()
    submit = Path(spec.submodule_search_locations[0]) / "bin" / "spark-submit"
    folder = Path(tempfile.mkdtemp(prefix="presage-jvm-"))
    command = [str(submit), "--conf", f"spark.driver.extraJavaOptions={options}", "pyspark-shell"]
    environment = {
        **os.environ,
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folder / "connection"),
        # The launcher, which computes the command line of the JVM, is a JVM as well.
        "SPARK_LAUNCHER_OPTS": SMALL,
    }
    with open(folder / "messages", "wb") as messages:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stderr=messages if quiet else None,
            env=environment,
            # Ctrl-C is handled by this process, with which the JVM ends.
            preexec_fn=_ignore_interrupts,
        )
    _launched = Jvm(process, folder)
    atexit.register(_launched.abandon)
    return _launched


def _has_started() -> bool:
    """Whether PySpark has a JVM in this process."""
    context = sys.modules.get("pyspark.core.context")
    return context is not None and context.SparkContext._gateway is not None


# Arguments of `launch` for the first session; None: PySpark starts the JVM.
_when_needed: tuple[str, bool] | None = None


def launch_when_needed(options: str = "", quiet: bool = False) -> None:
    """Launch it with the first session, if one is ever started."""
    global _when_needed
    _when_needed = (options, quiet)


def launch_now_if_wanted() -> Jvm | None:
    """Launch it as set by `launch_when_needed`, if it was."""
    return launch(*_when_needed) if _when_needed is not None else None


def launched() -> Jvm | None:
    """The launched JVM, if no session has taken it."""
    return _launched if _launched is not None and not _launched.taken else None


def prepare_environment() -> None:
    """Set the variables of the environment that Spark reads."""
    os.environ["JAVA_HOME"] = str(find_java())
    # By default Spark's workers run the first `python3` on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # By default Spark resolves the machine's host name, which may fail.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
