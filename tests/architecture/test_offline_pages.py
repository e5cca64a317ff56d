"""The documentation is read offline: what `make docs` refuses, and what mkdocs.yml must not ask for."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("offline_pages", ROOT / "scripts" / "offline_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fetched(folder: Path, name: str, text: str) -> list[str]:
    (folder / name).write_text(text)
    return list(hook().fetched_elsewhere(folder))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", '<script src="https://cdn.example/a.js"></script>'),
        ("a.html", '<script src="//cdn.example/a.js"></script>'),
        ("a.html", '<link rel="stylesheet" href="https://fonts.example/css">'),
        ("a.html", '<link rel="preconnect" href="https://fonts.example" crossorigin>'),
        ("a.html", '<img src="HTTP://pictures.example/a.png">'),
        ("a.html", '<img srcset="a.png 1x, https://pictures.example/a.png 2x">'),
        ("a.html", "<style>@import 'https://fonts.example/css';</style>"),
        ("a.html", "<p style=\"background: url('//pictures.example/a.png')\">"),
        ("a.html", '<pre class="mermaid">graph</pre>'),
        ("a.css", "@font-face { src: url(https://fonts.example/a.woff2) }"),
    ],
)
def test_what_a_browser_fetches_from_another_host_is_found(tmp_path: Path, name: str, text: str) -> None:
    assert len(fetched(tmp_path, name, text)) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", '<a href="https://delta.io">Delta</a>'),
        ("a.html", '<link rel="canonical" href="https://docs.example/a.html">'),
        ("a.html", '<script src="assets/a.js"></script><img src="../images/a.png">'),
        ("a.html", "<pre><code>&lt;script src=&quot;https://cdn.example/a.js&quot;&gt;</code></pre>"),
        ("a.css", "a { mask: url('data:image/svg+xml;charset=utf-8,<svg xmlns=\"http://www.w3.org/2000/svg\"/>') }"),
    ],
)
def test_links_that_a_reader_follows_and_what_lies_in_the_site_are_no_fetches(
    tmp_path: Path, name: str, text: str
) -> None:
    assert fetched(tmp_path, name, text) == []


def test_the_theme_is_told_to_fetch_nothing() -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    assert settings["theme"]["font"] is False
    assert "repo_url" not in settings
    assert [each for each in settings["extra"]["polyfills"] if not (ROOT / "docs" / each).is_file()] == []
    assert "scripts/offline_pages.py" in settings["hooks"]
