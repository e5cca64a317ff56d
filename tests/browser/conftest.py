"""The console in a real browser, Chromium driven by Playwright, over an engine without Spark: `make browser`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from browser.chromium import Page, Watched, find_chromium
from browser.served import TOKEN, Served
from browser.world import furnish, inform

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # The sandbox needs rights that a container does not give; all that is opened here is ours.
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / "home") as made:
        yield made


@pytest.fixture
def furnished(served: Served) -> Served:
    """With streams, statements and twenty minutes of events."""
    furnish(served)
    return served


@pytest.fixture
def informed(furnished: Served) -> Served:
    """With knowledge, too."""
    inform(furnished)
    return furnished


@pytest.fixture(params=["light", "dark"])
def colours(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def watched(chromium: object, served: Served) -> Iterator[Watched]:
    """A page that is logged in. What it asks of others, and what its scripts complain of, fails the test."""
    made = Watched(chromium, served.address)
    yield made
    made.close()


@pytest.fixture
def page(watched: Watched, served: Served) -> Page:
    watched.page.goto(f"{served.address}/?token={TOKEN}")
    return watched.page
