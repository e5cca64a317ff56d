"""A hook of MkDocs: refuses a site whose pages would fetch anything from another host when they are read.

Links that a reader follows may lead anywhere. Scripts, styles, fonts and pictures lie in the site itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

# Elements whose address a browser fetches by itself; of <link> only these relations.
FETCHED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "link": ("href",),
}
RELATIONS = {"stylesheet", "preload", "modulepreload", "prefetch", "preconnect", "dns-prefetch", "icon", "manifest"}
ELSEWHERE = re.compile(r"(?:^|,)\s*(?:https?:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?\s*((?:https?:)?//[^\s\"')]+)", re.IGNORECASE)


class Page(HTMLParser):
    """The addresses on other hosts that a browser fetches while it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.addresses += IN_STYLE.findall(values.get("style", ""))
        if tag == "link" and not RELATIONS & set(values.get("rel", "").lower().split()):
            return
        self.addresses += [
            values[name] for name in FETCHED.get(tag, ()) if name in values and ELSEWHERE.search(values[name])
        ]
        if "mermaid" in values.get("class", "").split():
            self.addresses.append("the library of Mermaid, which the theme fetches for a diagram")


def fetched_elsewhere(site: Path) -> Iterator[str]:
    """For each address on another host: the file of the site, and the address."""
    for path in sorted(site.rglob("*.html")):
        text = path.read_text()
        page = Page()
        page.feed(text)
        styles = "".join(re.findall(r"<style.*?</style>", text, re.DOTALL | re.IGNORECASE))
        yield from (f"{path.relative_to(site)}: {address}" for address in [*page.addresses, *IN_STYLE.findall(styles)])
    for path in sorted(site.rglob("*.css")):
        yield from (f"{path.relative_to(site)}: {address}" for address in IN_STYLE.findall(path.read_text()))


def on_config(config: Any) -> Any:
    if config.repo_url:
        _refuse("mkdocs.yml: with repo_url the theme asks the host of the repository for its figures, on each page")
    return config


def on_post_build(config: Any) -> None:
    found = list(fetched_elsewhere(Path(config.site_dir)))
    if found:
        _refuse("pages fetch from other hosts when they are read:\n  " + "\n  ".join(found))


def _refuse(why: str) -> None:
    # Imported here: the tests of this module need no MkDocs.
    from mkdocs.exceptions import PluginError

    raise PluginError(why)
