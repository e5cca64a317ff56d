"""`presage serve`: the HTTP API and the web console of a home, until it is interrupted."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from presage.cli.failures import reported
from presage.cli.options import AllowEnv, AllowFormat, AllowHost, Debug, Home, Standby, permissions

Address = Annotated[str, typer.Option("--host", metavar="NAME", help="Where to listen; the loopback alone by default.")]
Port = Annotated[int, typer.Option("--port", "-p", min=0, max=65_535, help="The port; 0 chooses a free one.")]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TOKEN",
        help="The access token; env:NAME reads it from the environment. A random one by default.",
        show_default=False,
    ),
]
Names = Annotated[list[str], typer.Option("--name", metavar="NAME", help="A further host name of the server.")]
Plans = Annotated[
    list[str],
    typer.Option("--plan", metavar="FILE.json", help="A floor plan for a map; may be given several times."),
]
Texts = Annotated[list[str], typer.Argument(metavar="[FILE.epl…]", help="Statements to execute first.")]


def serve(
    files: Texts = [],  # noqa: B006  Typer's way to say: none given
    home: Home = None,
    standby: Standby = False,
    host: Address = "127.0.0.1",
    port: Port = 8765,
    token: Token = None,
    name: Names = [],  # noqa: B006
    plan: Plans = [],  # noqa: B006
    allow_env: AllowEnv = [],  # noqa: B006
    allow_host: AllowHost = [],  # noqa: B006
    allow_format: AllowFormat = [],  # noqa: B006
    debug: Debug = False,
) -> None:
    """Serve the console and the HTTP API over a home. Every request needs the token."""
    with reported(debug=debug):
        from presage.cli.server import serve_home

        secret = token
        if token is not None and token.startswith("env:"):
            secret = os.environ.get(token.removeprefix("env:"))
        if token is not None and not secret:
            from presage.errors import error

            raise error("BAD_VALUE", what="--token", found="empty", expected="a secret, or env:NAME with one in NAME")
        allowed = {**permissions(allow_env, allow_host, allow_format), "standby": standby}
        serve_home(files, home, host, port, secret, name, debug, plan, allowed)
        sys.stdout.write("stopped\n")
