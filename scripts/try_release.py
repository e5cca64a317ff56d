"""Builds the wheel and the source distribution, and tries each in a fresh environment, as a user would.

Run as `make release`. The wheel is installed with the newest versions of all that it needs, as pip chooses them; the
source distribution with the versions of `constraints.txt`. Both come to `dist` only when everything passed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
TOKEN = "tried-on-the-loopback-alone"
STATEMENTS = """\
CREATE STREAM Temperature (room STRING, celsius DOUBLE, at TIMESTAMP) EVENT TIME at;

SELECT room, avg(celsius) AS mean
FROM Temperature#time(10 min)
GROUP BY room
HAVING avg(celsius) > 22;
"""
EVENTS = """\
room,celsius,at
r1,21.0,2024-03-01T09:00:00Z
r2,24.0,2024-03-01T09:01:00Z
r1,25.0,2024-03-01T09:04:00Z
r1,27.0,2024-03-01T09:12:00Z
"""
MEANS = [("r2", 24.0), ("r1", 23.0), ("r1", 26.0)]
# No option, path or module of this checkout or of the caller reaches the commands.
INHERITED = ("PATH", "HOME", "LANG", "JAVA_HOME", "TMPDIR", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
INHERITED_KINDS = re.compile(
    r"(?:PIP_(?:INDEX_URL|EXTRA_INDEX_URL|CERT|CACHE_DIR)|https?_proxy|no_proxy)", re.IGNORECASE
)


class ReleaseError(Exception):
    """What was tried did not work; the text says what, with the output of the command."""


def main() -> int:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="presage-release-") as made:
        folder = Path(made)
        try:
            wheel, source = build(folder)
            try_package("wheel", wheel, version, folder, [])
            try_package("sdist", source, version, folder, ["-c", str(CONSTRAINTS)])
        except ReleaseError as failure:
            print(f"\nFAILED: {failure}", file=sys.stderr)
            return 1
        (ROOT / "dist").mkdir(exist_ok=True)
        for package in (wheel, source):
            shutil.copy2(package, ROOT / "dist" / package.name)
            print(f"dist/{package.name}  {package.stat().st_size / 1e6:.2f} MB")
    print(f"release: both packages work ({time.monotonic() - began:.0f} s)")
    return 0


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel, made from the source distribution and not from the checkout, and that."""
    with step("build"):
        # What builds is downloaded into an environment of its own, in the version of the constraints.
        settings = os.environ | {"PIP_CONSTRAINT": str(CONSTRAINTS)}
        run([sys.executable, "-m", "build", "--outdir", str(folder / "dist"), str(ROOT)], folder, settings, 600)
    packages = sorted((folder / "dist").iterdir())
    wheels = [path for path in packages if path.suffix == ".whl"]
    sources = [path for path in packages if path.name.endswith(".tar.gz")]
    if (len(wheels), len(sources), len(packages)) != (1, 1, 2):
        raise ReleaseError(
            f"a wheel and a source distribution were expected, built was {[path.name for path in packages]}"
        )
    return wheels[0], sources[0]


def try_package(kind: str, package: Path, version: str, folder: Path, options: list[str]) -> None:
    environment, work = folder / f"{kind}-environment", folder / f"{kind}-work"
    work.mkdir()
    (work / "warm.epl").write_text(STATEMENTS)
    (work / "temperature.csv").write_text(EVENTS)
    settings = clean_settings() | {"NUMBA_CACHE_DIR": str(folder / "kernels"), "PRESAGE_TOKEN": TOKEN}
    presage = str(environment / "bin" / "presage")
    with step(f"{kind}: install"):
        run([sys.executable, "-m", "venv", str(environment)], work, settings, 120)
        pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, *options, f"presage[console] @ {package.as_uri()}"], work, settings, 1800)
    with step(f"{kind}: presage --version"):
        expect(run([presage, "--version"], work, settings, 60).strip(), f"presage {version}")
    with step(f"{kind}: presage check"):
        run([presage, "check", "warm.epl"], work, settings, 60)
    with step(f"{kind}: presage query"):
        command = [presage, "query", "warm.epl", "--events", "Temperature=temperature.csv", "--format", "json"]
        rows = [json.loads(line) for line in run(command, work, settings, 600).splitlines()]
        expect([(row["room"], row["mean"]) for row in rows], MEANS)
    with step(f"{kind}: presage demo building"):
        run([presage, "demo", "building"], work, settings, 900)
    with step(f"{kind}: presage serve"):
        serve(presage, work, settings)
    shutil.rmtree(environment)


def serve(presage: str, work: Path, settings: dict[str, str]) -> None:
    """The console answers who has the token, nobody else, and ends when it is interrupted."""
    command = [presage, "serve", "--port", "0", "--token", "env:PRESAGE_TOKEN"]
    with (work / "serve.log").open("w+") as log:
        server = subprocess.Popen(command, cwd=work, env=settings, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            address = wait(server, work / "serve.log", lambda: listening(work / "serve.log"))
            expect(ask(address, "wrong")[0], 401)
            wait(server, work / "serve.log", lambda: ask(address, TOKEN) == (200, "ready"))
            server.send_signal(signal.SIGINT)
            expect(server.wait(60), 0)
        except subprocess.TimeoutExpired:
            raise ReleaseError("presage serve did not end within a minute after it was interrupted") from None
        finally:
            server.kill()
            server.wait()
    if "stopped" not in (work / "serve.log").read_text():
        raise ReleaseError(f"presage serve did not say that it stopped:\n{(work / 'serve.log').read_text()}")


def listening(log: Path) -> str | None:
    found = re.search(r"Presage is at (http://127\.0\.0\.1:\d+)/", log.read_text())
    return found[1] if found else None


def ask(address: str, token: str) -> tuple[int, str]:
    """The status of the answer, and the state that it tells."""
    request = urllib.request.Request(f"{address}/api/status", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
            return answer.status, json.load(answer)["state"]
    except urllib.error.HTTPError as refused:
        return refused.code, ""
    except OSError as problem:
        raise ReleaseError(f"{address} did not answer: {problem}") from None


def wait(server: subprocess.Popen[bytes], log: Path, look: Callable[[], Any]) -> Any:
    """What `look` gives as soon as that is true; it has two minutes, as long as the server runs."""
    until = time.monotonic() + 120
    while server.poll() is None and time.monotonic() < until:
        found = look()
        if found:
            return found
        time.sleep(0.2)
    raise ReleaseError(f"presage serve was not ready, exit status {server.poll()}:\n{log.read_text()}")


def clean_settings() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k in INHERITED or INHERITED_KINDS.fullmatch(k)}


def run(command: list[str], work: Path, settings: dict[str, str], seconds: int) -> str:
    """The standard output of a command that must succeed in time."""
    try:
        done = subprocess.run(
            command,
            cwd=work,
            env=settings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ReleaseError(f"{' '.join(command)} took longer than {seconds} s") from None
    if done.returncode != 0:
        raise ReleaseError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(found: object, expected: object) -> None:
    if found != expected:
        raise ReleaseError(f"expected {expected}, found {found}")


@contextmanager
def step(name: str) -> Iterator[None]:
    """Say what is tried, and how long it took."""
    print(f"{name:<32}", end="", flush=True)
    began = time.monotonic()
    yield
    print(f"{time.monotonic() - began:7.1f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
