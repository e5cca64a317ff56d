"""What others meet first: workflows, forms, hooks, addresses and the changelog agree with the project."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from datetime import date
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import presage
from presage.execution.spark.java import NEEDED

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = [path for path in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if path.stem != "config"]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, TOOLS = SETTINGS["project"], SETTINGS["tool"]
# The account of this name belongs to another project.
NOBODYS = "github.com/" + "presage"
KINDS = ["Added", "Changed", "Fixed", "Removed"]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def jobs(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = read(path)["jobs"]
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job["steps"]]


def stem(path: Path) -> str:
    return path.stem


def test_there_are_workflows_for_the_suite_the_pages_and_the_packages() -> None:
    commands = {step.get("run") for path in WORKFLOWS for step in steps(path)}
    assert commands >= {".ci/run", "make docs", "make release"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=stem)
def test_a_workflow_calls_what_exists(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for command in (step["run"] for step in steps(path) if "run" in step):
        assert set(re.findall(r"\bmake ([a-z-]+)", command)) <= targets
        for script in re.findall(r"(?:^|\s)((?:\.ci|scripts)/\S+)", command):
            assert os.access(ROOT / script, os.X_OK), script


@pytest.mark.parametrize("path", WORKFLOWS, ids=stem)
def test_a_workflow_may_only_read_and_ends_by_itself(path: Path) -> None:
    assert read(path)["permissions"] == {"contents": "read"}
    assert [name for name, job in jobs(path).items() if "timeout-minutes" not in job] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=stem)
def test_a_workflow_uses_actions_of_github_alone_and_names_their_versions(path: Path) -> None:
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert [each for each in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", each)] == []


def test_the_suite_runs_with_each_python_that_the_project_names_and_the_oldest_java() -> None:
    (job,) = jobs(GITHUB / "workflows" / "ci.yml").values()
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert job["strategy"]["matrix"]["python"] == named
    assert [step["with"]["java-version"] for step in job["steps"] if "java" in step.get("uses", "")] == [str(NEEDED)]


@pytest.mark.parametrize("path", FORMS, ids=stem)
def test_a_form_asks_for_something_and_names_each_field_once(path: Path) -> None:
    form = read(path)
    assert form["name"]
    assert form["description"]
    names = [field["id"] for field in form["body"] if field["type"] != "markdown"]
    assert len(names) == len(set(names))
    assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_the_template_of_pull_requests_names_targets_that_exist() -> None:
    named = re.findall(r"`make ([a-z-]+)`", (GITHUB / "pull_request_template.md").read_text())
    makefile = (ROOT / "Makefile").read_text()
    assert named
    assert [target for target in named if f"\n{target}:" not in makefile] == []


def test_hooks_call_tools_of_the_environment_in_the_versions_of_the_suite() -> None:
    pinned = set(re.findall(r"^([\w-]+)==", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    wanted = {re.split(r"\W", each)[0] for each in PROJECT["optional-dependencies"]["test"]}
    hooks = [hook for repo in read(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    tools = [hook["entry"].split()[0] for hook in hooks]
    assert {tool.removeprefix(".venv/bin/") for tool in tools} == {"ruff", "mypy"} <= (pinned & wanted)


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The hook of the build, whose own packages are only where packages are built."""
    interface = ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    assert TOOLS["hatch"]["metadata"]["hooks"]["custom"]["path"] == "scripts/project_urls.py"
    spec = spec_from_file_location("project_urls", ROOT / "scripts" / "project_urls.py")
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_a_package_names_the_repository_that_built_it(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    (built,) = [step for step in steps(GITHUB / "workflows" / "packages.yml") if step.get("run") == "make release"]
    assert built["env"] == {"PRESAGE_REPOSITORY": "${{ github.server_url }}/${{ github.repository }}"}
    monkeypatch.setenv("PRESAGE_REPOSITORY", "https://example.org/somebody/presage/")
    metadata: dict[str, Any] = {}
    hook.AddressesHook().update(metadata)
    assert sorted(metadata["urls"]) == ["Changelog", "Documentation", "Issues", "Source"]
    assert [url for url in metadata["urls"].values() if not f"{url}/".startswith("https://example.org/somebody/")] == []


def test_a_package_built_elsewhere_names_nobodys_repository(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRESAGE_REPOSITORY", raising=False)
    metadata: dict[str, Any] = {}
    hook.AddressesHook().update(metadata)
    assert metadata == {"urls": {}}
    assert PROJECT["dynamic"] == ["urls"]
    pages = [*ROOT.glob("*.*"), *GITHUB.rglob("*.*"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    named = [path for path in pages if path.is_file() and NOBODYS in path.read_text()]
    assert named == []


def test_an_address_that_is_none_ends_the_build(hook: ModuleType) -> None:
    with pytest.raises(ValueError, match="PRESAGE_REPOSITORY"):
        hook.urls_of("git@example.org:somebody/presage")


def test_the_version_is_the_same_everywhere() -> None:
    assert PROJECT["version"] == presage.__version__


def versions() -> list[tuple[str, str]]:
    """Version and date of each released part of the changelog, newest first."""
    heads = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heads[0] == "Unreleased"
    assert [head for head in heads[1:] if not re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", head)] == []
    return [(version, day) for version, _, day in (head.partition(" - ") for head in heads[1:])]


def test_versions_of_the_changelog_have_dates_and_come_newest_first() -> None:
    numbers = [tuple(map(int, version.split("."))) for version, _ in versions()]
    days = [date.fromisoformat(day) for _, day in versions()]
    assert numbers == sorted(set(numbers), reverse=True)
    assert days == sorted(days, reverse=True)
    assert versions()[0][0] == presage.__version__


def test_parts_of_the_changelog_are_added_changed_fixed_removed_in_this_order() -> None:
    for part in re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.+)$", part, re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds]
