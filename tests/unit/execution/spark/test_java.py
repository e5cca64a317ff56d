"""Finding Java: fake installations in, the home folder or the NO_JAVA error out."""

from __future__ import annotations

from pathlib import Path

import pytest

from presage.errors import PresageError
from presage.execution.spark import java
from presage.execution.spark.java import find_java, main


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any Java: nothing on PATH, no JAVA_HOME, no known folder."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(java, "HOMES", (str(tmp_path / "jvm" / "*"),))
    monkeypatch.setattr(java, "MAC_FINDER", tmp_path / "java_home")
    (tmp_path / "bin").mkdir()
    return tmp_path


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def install(home: Path, version: str) -> Path:
    """A Java that tells its version when it is asked, as all do on the error stream."""
    script(
        home / "bin" / "java",
        f"echo 'Property settings:\n    java.home = {home}\n    java.specification.version = {version}' >&2",
    )
    return home


def install_with_release_file(home: Path, version: str) -> Path:
    script(home / "bin" / "java", "exit 3")
    (home / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\n')
    return home


def failure() -> PresageError:
    with pytest.raises(PresageError) as caught:
        find_java()
    assert caught.value.code == "NO_JAVA"
    return caught.value


def test_java_home_goes_before_the_path(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = install(machine / "chosen", "21")
    (machine / "bin" / "java").symlink_to(install(machine / "other", "17") / "bin" / "java")
    assert find_java() == machine / "other"
    monkeypatch.setenv("JAVA_HOME", str(chosen))
    assert find_java() == chosen


def test_a_java_home_that_is_too_old_is_passed_over(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(machine / "old", "11")))
    install(machine / "jvm" / "java-17", "17")
    assert find_java() == machine / "jvm" / "java-17"


def test_the_release_file_saves_asking(machine: Path) -> None:
    home = install_with_release_file(machine / "jvm" / "java-17", "17.0.15")
    assert find_java() == home


def test_a_wrapper_is_asked_for_the_real_home(machine: Path) -> None:
    script(
        machine / "bin" / "java",
        "echo 'Picked up JAVA_TOOL_OPTIONS: -Xmx1g'\necho '    java.home = /real/home'\n"
        "echo '    java.specification.version = 17'",
    )
    assert find_java() == Path("/real/home")


def test_a_command_that_fails_is_no_java(machine: Path) -> None:
    script(machine / "bin" / "java", "exit 1")
    assert "found" not in failure().message.replace("was not found", "")


def test_without_any_java_the_message_says_what_to_install(machine: Path) -> None:
    script(machine / "bin" / "dnf", "exit 0")
    problem = failure()
    assert problem.message == "Spark needs Java 17 or later, which was not found"
    assert problem.fix == "run: sudo dnf install java-17-openjdk-headless"


def test_without_a_known_installer_the_message_says_where_to_get_java(machine: Path) -> None:
    assert "https://adoptium.net" in failure().fix


@pytest.mark.parametrize(("spelling", "version"), [("1.8", 8), ("11", 11)])
def test_a_java_that_is_too_old_is_named_with_its_place(machine: Path, spelling: str, version: int) -> None:
    home = install(machine / "jvm" / "old", spelling)
    assert failure().message == f"Spark needs Java 17 or later, which was not found (found Java {version} at {home})"


def test_a_java_home_without_java_is_named(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(machine / "nowhere"))
    assert failure().message.endswith(f"(JAVA_HOME is '{machine}/nowhere', which has no bin/java)")


def test_the_finder_of_macos_is_asked_last(machine: Path) -> None:
    home = install(machine / "Library" / "jdk-17", "17")
    script(machine / "java_home", f"echo {home}")
    assert find_java() == home


def test_as_a_command_it_prints_the_folder_or_the_error(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 1
    assert "error[NO_JAVA]" in capsys.readouterr().err
    home = install(machine / "jvm" / "java-17", "17")
    assert main() == 0
    assert capsys.readouterr().out.strip() == str(home)
