"""What `presage serve` does: an engine, the console's application, a web server around it."""

from __future__ import annotations

import importlib.util
import socket
import sys
from pathlib import Path

from presage.cli.text import name_of, read_text
from presage.engine import Engine
from presage.errors import error

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve_home(
    files: list[str], home: Path | None, host: str, port: int, token: str | None, names: list[str], debug: bool
) -> None:
    """Until it is interrupted. Whoever listens on other addresses must say which token he wants."""
    for needed in ("fastapi", "uvicorn"):
        if importlib.util.find_spec(needed) is None:
            fix = "pip install 'presage[console]'"
            raise error("UNSUPPORTED", what="presage serve", where=f"without the package '{needed}'", fix=fix)
    if host not in LOOPBACK and token is None:
        fix = "choose a token: --token env:PRESAGE_TOKEN"
        raise error("UNSUPPORTED", what=f"listening on '{host}'", where="without a token of your own", fix=fix)
    import uvicorn

    from presage.console.access import new_token
    from presage.console.app import make_app

    secret = token or new_token()
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    sys.stdout.write("starting: the first time takes as long as Spark\n")
    sys.stdout.flush()
    with Engine(home=home) as engine:
        for file in files:
            engine.execute(read_text(file), name_of(file))
        engine.start()
        shown = f"[{host}]" if ":" in host else host
        hidden = "" if token is not None else f"?token={secret}"
        sys.stdout.write(f"Presage is at http://{shown}:{port}/{hidden}\n  home {engine.home}; Ctrl-C ends it\n")
        sys.stdout.flush()
        app = make_app(engine, secret, [shown, *names])
        level = "info" if debug else "warning"
        config = uvicorn.Config(app, log_level=level, timeout_graceful_shutdown=2, server_header=False)
        uvicorn.Server(config).run([listening])


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or an error that names the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as failure:
        listening.close()
        why = failure.strerror or str(failure)
        raise error(
            "UNSUPPORTED", what=f"listening on {host}:{port}", where=f"here ({why})", fix="choose --port"
        ) from None
    return listening
