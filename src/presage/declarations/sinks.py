"""CREATE SINK: the options of each kind of sink, and their checks. The sinks themselves are in `presage.sinks`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from presage.declarations.catalog_objects import refuse_known
from presage.declarations.kafka import check_client
from presage.declarations.options import add_option, check_duration, check_one_of
from presage.declarations.permissions import check_secret
from presage.errors import did_you_mean, error
from presage.lang import syntax as s
from presage.model.catalog import Catalog, Sink
from presage.model.permissions import is_reference
from presage.model.text import Span

ON_ERROR = ("retry", "skip")
BEGIN = ("start", "now")
SINK_OPTIONS: dict[str, tuple[str, ...]] = {
    "parquet": ("path", "rows", "every"),
    "webhook": ("url", "rows", "timeout", "on_error"),
    "kafka": ("servers", "topic", "user", "password", "rows", "on_error"),
    "callback": ("on_error",),
}
# Options with this prefix are passed on under any name.
PREFIXES = {"webhook": "header.", "kafka": "kafka."}
NEEDED: dict[str, dict[str, str]] = {
    "parquet": {"path": "path = 'alarms', the folder that its files are put into"},
    "webhook": {"url": "url = 'https://example.org/alarms'"},
    "kafka": {"servers": "servers = 'localhost:9092'", "topic": "topic = 'alarms'"},
}
MOST_ROWS = {"parquet": 10_000_000, "webhook": 10_000, "kafka": 1_000_000}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
OURS = ("content-type", "content-length", "host", "transfer-encoding", "connection", "idempotency-key")
# Options whose value is a secret: a declaration names the environment variable that holds it.
SECRET = re.compile(r"authorization|cookie|api-?key|token|secret|password|signature")


def declare_sink(node: s.CreateSink, catalog: Catalog, again: bool = False) -> Catalog:
    """The catalog with a new sink. The engine checks that its statement is deployed. `again`: the home accepted it
    before; options that a newer version refuses are reported when the sink starts."""
    refuse_known(node.name, catalog, node.span)
    owner = f"sink '{node.name}'"
    options: dict[str, str] = {}
    spans: dict[str, Span] = {}
    for option in node.options:
        add_option(options, option, owner)
        spans[option.name.lower()] = option.span
    if "sink" not in options:
        fix = f"write WITH (sink = 'parquet', path = '{node.name}') for example"
        raise error("MISSING_OPTION", node.span, owner=owner, name="sink", fix=fix)
    made = Sink(node.name, node.statement, options)
    if not again:
        check_sink(made, node.span, spans)
    return catalog.with_sink(made)


def check_sink(made: Sink, span: Span | None = None, spans: Mapping[str, Span] | None = None) -> None:
    """Refuse options that a sink cannot use; `spans`: their places in the text, if any."""
    places, options = spans or {}, made.options
    check_one_of("sink", made.kind, tuple(SINK_OPTIONS), places.get("sink"))
    for name, example in NEEDED.get(made.kind, {}).items():
        if name not in options:
            whole = f"sink '{made.name}' with sink = '{made.kind}'"
            raise error("MISSING_OPTION", span, owner=whole, name=name, fix=f"add {example}")
    for name, value in options.items():
        _check_known(made, name, places.get(name))
        if name in _CHECKS:
            _CHECKS[name](made, name, value, places.get(name))
        if name.startswith("header."):
            _check_header(name.removeprefix("header."), value, places.get(name))
        if made.kind == "kafka":
            check_client(f"sink '{made.name}'", options, name, places.get(name))
        elif SECRET.search(name):
            check_secret(f"sink '{made.name}'", name, value)


def _check_known(made: Sink, name: str, span: Span | None) -> None:
    every = ("sink", "begin", *SINK_OPTIONS[made.kind])
    prefix = PREFIXES.get(made.kind)
    if name not in every and not (prefix is not None and name.startswith(prefix) and len(name) > len(prefix)):
        raise error("UNKNOWN_OPTION", span, name=name, owner=f"sink '{made.name}'", fix=did_you_mean(name, every))


def _check_rows(made: Sink, name: str, value: str, span: Span | None) -> None:
    most = MOST_ROWS[made.kind]
    if not (value.isascii() and value.isdigit() and 0 < int(value) <= most):
        expected = f"a whole number more than 0 and at most {most:,}"
        raise error("BAD_VALUE", span, what=name, found=f"'{value}'", expected=expected)


def _check_duration(made: Sink, name: str, value: str, span: Span | None) -> None:
    if not check_duration(value, span) and name == "timeout":
        raise error("BAD_VALUE", span, what=name, found="0", expected="a duration that leaves time for an answer")


def _check_text(made: Sink, name: str, value: str, span: Span | None) -> None:
    if not value:
        raise error("BAD_VALUE", span, what=name, found="empty", expected=f"a {name}")


def _check_url(made: Sink, name: str, value: str, span: Span | None) -> None:
    why = None if is_reference(value) else url_problem(value)
    if why is not None:
        expected = "an address that begins with http:// or https://"
        fix = "what is secret in it, put in a header: 'header.Authorization' = 'env:NAME'"
        raise error("BAD_VALUE", span, what=name, found=why, expected=expected, fix=fix)


def url_problem(url: str) -> str | None:
    """Why a text is no valid address, without quoting it (it may hold a secret); None if it is valid."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "no address"
    if parts.scheme not in ("http", "https"):
        return f"of the kind '{parts.scheme}'" if parts.scheme.isalpha() else "no address"
    if not parts.hostname or port == 0:
        return "without a host"
    if parts.username is not None or parts.password is not None:
        return "one with a user's name or password"
    if not url.isascii() or not url.isprintable() or " " in url:
        return "one with characters that an address cannot hold"
    return None


def _check_header(name: str, value: str, span: Span | None) -> None:
    if not _TOKEN.fullmatch(name) or name in OURS:
        found = f"'{name}'"
        expected = "one that is not set by Presage itself" if name in OURS else "letters, digits and hyphens"
        raise error("BAD_VALUE", span, what="the name of a header", found=found, expected=expected)
    if not value.isprintable() or not value.isascii():
        raise error("BAD_VALUE", span, what=f"header.{name}", found="not printable", expected="a line of plain text")


_CHECKS: dict[str, Callable[[Sink, str, str, Span | None], None]] = {
    "on_error": lambda made, name, value, span: check_one_of(name, value, ON_ERROR, span),
    "begin": lambda made, name, value, span: check_one_of(name, value, BEGIN, span),
    "rows": _check_rows,
    "every": _check_duration,
    "timeout": _check_duration,
    "path": _check_text,
    "url": _check_url,
}
