"""A browser in, a page out that is watched: requests to others and complaints of scripts are kept."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

Page = Any  # Playwright's; imported only where a browser is
PICTURES = Path(__file__).parent / "pictures"
NAMES = ("chromium", "chromium-browser", "google-chrome")
# What a browser says of an answer that is no success; tests ask for some of those on purpose.
OF_ANSWERS = "Failed to load resource"


def find_chromium() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium: install the package chromium")
    return found


class Watched:
    """`page` is a tab with a profile of its own."""

    def __init__(self, browser: Any, address: str) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="no-preference")
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("console", lambda said: said.type == "error" and self._complain(said.text))
        self.page.on("pageerror", lambda failure: self._complain(str(failure)))
        self.page.on("request", lambda asked: self._asked(asked.url, address))

    def _complain(self, text: str) -> None:
        if OF_ANSWERS not in text:
            self.complaints.append(text)

    def _asked(self, url: str, address: str) -> None:
        if not url.startswith((address, "data:", f"blob:{address}")):
            self.elsewhere.append(url)

    def close(self) -> None:
        self.context.close()
        assert self.complaints == []
        assert self.elsewhere == []


def keep_picture(page: Page, name: str) -> None:
    """For people to look at."""
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png")
