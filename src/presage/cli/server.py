"""The server of `presage serve`: it listens at once, while the engine starts."""

from __future__ import annotations

import importlib.util
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from presage.cli.text import name_of, read_text
from presage.errors import error
from presage.execution.spark.jvm import launch
from presage.model.redaction import keep_out

if TYPE_CHECKING:
    from presage.console.gate import Gate
    from presage.engine import Engine

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve_home(
    files: list[str],
    home: Path | None,
    host: str,
    port: int,
    token: str | None,
    names: list[str],
    debug: bool,
    plans: Sequence[str] = (),
    allowed: Mapping[str, Any] | None = None,
) -> None:
    """Serve until interrupted. Addresses other than the loopback need a token from the user. `plans`: files of floor
    plans; `allowed`: `allow_env` and `allow_hosts` of the engine."""
    check_packages("presage serve")
    if host not in LOOPBACK and token is None:
        fix = "choose a token: --token env:PRESAGE_TOKEN"
        raise error("UNSUPPORTED", what=f"listening on '{host}'", where="without a token of your own", fix=fix)
    from presage.cli.server_engine import Opening
    from presage.console.access import Access, new_token
    from presage.console.gate import Gate
    from presage.console.plans import read_plan
    from presage.console.server import server_of

    read = [read_plan(plan) for plan in plans]
    texts = [(name_of(file), read_text(file)) for file in files]
    secret = token or new_token()
    keep_out(secret)  # out of logs
    listening = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    gate = Gate()
    server = server_of(Access(gate, secret, [shown, *names]), debug)

    def end() -> None:
        server.should_exit = True

    hidden = "" if token is not None else f"?token={secret}"
    port = listening.getsockname()[1]
    address, told = (f"http://{name}:{port}/" for name in (shown, names[0] if names else shown))
    opening = Opening(gate, home, texts, end, read, {**(allowed or {}), "address": told})
    sys.stdout.write(f"Presage is at {address}{hidden}\n")
    sys.stdout.write(f"  {'nothing is kept' if home is None else f'home {home}'}; Ctrl-C ends it\n")
    sys.stdout.flush()
    # The JVM starts while Python is still loading.
    launch(quiet=not debug)
    opening.start()
    try:
        server.run([listening])
    except KeyboardInterrupt:
        # The normal end: the server has finished its requests and passes the signal on.
        sys.stdout.write("stopping\n")
    finally:
        opening.close()
    if opening.failure is not None:
        raise opening.failure


@contextmanager
def served(engine: Engine, port: int) -> Iterator[tuple[str, Gate]]:
    """The console of an open engine on the loopback, in a thread of its own: its address, and its gate."""
    check_packages("--serve")
    from presage.console.access import Access, new_token
    from presage.console.app import open_gate
    from presage.console.gate import Gate
    from presage.console.server import server_of

    secret, listening, gate = new_token(), _listen("127.0.0.1", port), Gate()
    open_gate(gate, engine)
    server = server_of(Access(gate, secret))
    thread = threading.Thread(target=server.run, args=([listening],), name="presage-console", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/?token={secret}", gate
    finally:
        server.should_exit = True
        thread.join()


def check_packages(what: str) -> None:
    for needed in ("fastapi", "uvicorn"):
        if importlib.util.find_spec(needed) is None:
            fix = "pip install 'presage[console]'"
            raise error("UNSUPPORTED", what=what, where=f"without the package '{needed}'", fix=fix)


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or an error that names the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        # Here and not when the server runs: whoever reads the printed address may connect at once.
        listening.listen()
    except OSError as failure:
        listening.close()
        why = failure.strerror or str(failure)
        raise error(
            "UNSUPPORTED", what=f"listening on {host}:{port}", where=f"here ({why})", fix="choose --port"
        ) from None
    return listening
