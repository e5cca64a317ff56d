"""A Spark standalone cluster on the loopback: a wheel and two worker processes that know Presage from that wheel alone.

Everything is started with the classes of the installed PySpark, each in a process group of its own, and ended with the
context. The wheel is shipped as `docs/guide/cluster.md` says. The workers' Python has what Presage depends on and not
Presage: a folder that is named in a `.pth` file is searched, but the `.pth` files in it are not read, so an editable
installation stays out of sight.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self
from urllib.request import urlopen

import pyspark

from presage.execution.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
SPARK = Path(pyspark.__file__).parent
PATIENCE = 300.0
EXECUTOR = "CoarseGrainedExecutorBackend"
# As the tests' local session has it; what is a matter of the cluster comes from `Cluster.settings`.
SESSION = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
    "spark.log.level": "ERROR",
}


def build_wheel(folder: Path) -> Path:
    """The wheel, and a copy that ends in .zip: PySpark puts no other ending on the workers' path."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = folder.glob("presage-*.whl")
    return Path(shutil.copy(wheel, wheel.with_suffix(".zip")))


def worker_python(folder: Path) -> Path:
    """A Python with everything that Presage needs, and without Presage."""
    venv.create(folder, with_pip=False)
    packages = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    (Path(packages) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "bin" / "python"
    found = subprocess.run(
        [python, "-c", "import numba, pyarrow; import presage"], env={}, capture_output=True, text=True
    )
    assert "No module named 'presage'" in found.stderr, found.stderr
    return python


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Cluster:
    """One master and two workers with a core each."""

    def __init__(self, folder: Path, workers: int = 2, memory: str = "1g") -> None:
        self.folder = folder
        self.memory = memory
        self._count = workers
        self._ending = ExitStack()
        self._port, self._page = free_port(), free_port()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def master(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    @property
    def settings(self) -> dict[str, str]:
        """What a session needs to use the cluster: the lines that the guide shows."""
        return {
            "spark.submit.pyFiles": str(self.wheel),
            "spark.executor.memory": self.memory,
            "spark.executor.cores": "1",
            # A task that an executor takes with it is no mistake of the task; but nothing is tried for ever.
            "spark.task.maxFailures": "8",
        }

    def __enter__(self) -> Self:
        try:
            self.wheel = build_wheel(self.folder / "dist")
            self.python = worker_python(self.folder / "python")
            self._start_class(
                "master",
                "master.Master",
                "--port",
                str(self._port),
                "--webui-port",
                str(self._page),
            )
            self.wait(lambda: self.state() is not None, "the master does not answer")
            for number in range(self._count):
                self.start_worker(number)
            self.wait(lambda: len(self.alive()) == self._count, "the workers do not register")
        except BaseException:
            self._ending.close()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        self._ending.close()

    def start_worker(self, number: int) -> None:
        """Start it, or start it again after it was killed."""
        work = self.folder / f"work-{number}"
        work.mkdir(exist_ok=True)
        self._start_class(
            f"worker-{number}",
            "worker.Worker",
            "--cores",
            "1",
            "--memory",
            "2g",
            "--webui-port",
            "0",
            "--work-dir",
            str(work),
            self.master,
        )

    def kill_worker(self, number: int) -> None:
        """As the system kills, with the executors that it has started: the machine is gone."""
        process = self.processes[f"worker-{number}"]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def executors(self) -> dict[int, int]:
        """Process ids of executors, by the number of their worker."""
        found = {}
        for number in range(self._count):
            process = self.processes[f"worker-{number}"]
            for pid, group, command in _processes():
                if group == process.pid and EXECUTOR in command:
                    found[number] = pid
        return found

    def worker_of(self, executor: int) -> int:
        """The number of the worker that started it, by the group that both are in."""
        group = os.getpgid(executor)
        return next(n for n in range(self._count) if self.processes[f"worker-{n}"].pid == group)

    def memory_of(self, number: int) -> int:
        """Bytes that a worker, its executor and their Python processes hold now."""
        group = self.processes[f"worker-{number}"].pid
        return sum(_resident(pid) for pid, of, _ in _processes() if of == group)

    def state(self) -> dict[str, Any] | None:
        """What the master says of itself; None while it does not answer."""
        try:
            with urlopen(f"http://127.0.0.1:{self._page}/json/", timeout=5) as page:
                return dict(json.load(page))
        except (OSError, json.JSONDecodeError):  # while it starts, its page comes before its figures
            return None

    def alive(self) -> list[dict[str, Any]]:
        state = self.state() or {"workers": []}
        return [worker for worker in state["workers"] if worker["state"] == "ALIVE"]

    def environment(self) -> dict[str, str]:
        """Nothing of ours: a worker must not find the source tree."""
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "USER", "TMPDIR")}
        return kept | {
            "JAVA_HOME": str(find_java()),
            "SPARK_HOME": str(SPARK),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_NO_DAEMONIZE": "1",
        }

    @contextmanager
    def connect_server(self) -> Iterator[str]:
        """A Spark Connect server whose jobs run on the cluster: its address. It has its own Python, without Presage."""
        port = free_port()
        settings = {**SESSION, **self.settings, "spark.connect.grpc.binding.port": str(port)}
        settings |= {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.pyspark.python": str(self.python)}
        del settings["spark.submit.pyFiles"]  # a client sends its own
        options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        command = [
            str(SPARK / "bin" / "spark-submit"),
            "--master",
            self.master,
            "--class",
            "org.apache.spark.sql.connect.service.SparkConnectServer",
            *options,
            "spark-internal",
        ]
        # Its launcher counts it among the daemons.
        environment = self.environment() | {"PYSPARK_PYTHON": str(self.python), "SPARK_DAEMON_MEMORY": "1g"}
        process = self._start("connect", command, environment)
        try:
            self.wait(lambda: _listens(port), "the Connect server does not answer")
            yield f"sc://127.0.0.1:{port}"
        finally:
            _end(process)

    def _start_class(self, name: str, spark_class: str, *arguments: str) -> None:
        command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{spark_class}"]
        self._start(name, [*command, "--host", "127.0.0.1", *arguments], self.environment())

    def _start(self, name: str, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        log: IO[bytes] = open(self.folder / f"{name}.log", "ab")  # noqa: SIM115 (closed below, the process has it)
        with log:
            process = subprocess.Popen(
                command,
                env=environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes[name] = process
        self._ending.callback(_end, process)
        return process

    def wait(self, done: Any, complaint: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not done():
            dead = [name for name, process in self.processes.items() if process.poll() is not None]
            if dead or time.monotonic() > deadline:
                logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in self.folder.glob("*.log"))
                raise AssertionError(f"{complaint}; ended: {dead}\n{logs}")
            time.sleep(0.1)


def cluster_session(cluster: Cluster, warehouse: Path) -> SparkSession:
    """A session of this process on the cluster. Its JVM is started with it and takes the setting of the workers' Python
    from the environment."""
    from pyspark.sql import SparkSession

    os.environ["JAVA_HOME"] = str(find_java())
    os.environ["PYSPARK_PYTHON"] = str(cluster.python)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master(cluster.master).appName("presage-tests")
    for name, value in {**SESSION, **cluster.settings, "spark.sql.warehouse.dir": str(warehouse)}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def connect_session(cluster: Cluster, address: str) -> SparkSession:
    """A session over Spark Connect that has sent the wheel to the server."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote(address).getOrCreate()
    session.addArtifacts(str(cluster.wheel), pyfile=True)
    return session


def _end(process: subprocess.Popen[bytes]) -> None:
    """The whole group, also what a process that is gone has left behind."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, how)
        except ProcessLookupError:
            break
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.05)
    process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


def _processes() -> list[tuple[int, int, str]]:
    """Process, group and command of all; those that end meanwhile are left out."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append((int(folder.name), os.getpgid(int(folder.name)), command))
            except OSError:
                continue
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
