"""`presage check` as users call it: what it prints, its exit codes, and that it is quick."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from presage.cli import main

GOOD = """
CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;
SELECT sym, avg(price) AS mean FROM Tick#time(1 min) GROUP BY sym;
"""
BAD = GOOD + "SELECT sym, prise FROM Tick;\nSELECT sym FROM Tock;\n"
SOURCE = Path(__file__).parents[3] / "src"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def presage(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["presage", *arguments])
    return main()


def test_a_right_file_is_said_to_be_right(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "good.epl").write_text(GOOD)
    assert presage(monkeypatch, "check", "good.epl") == 0
    assert capsys.readouterr().out == "good.epl: 2 statements, no errors\n"


DENIED = """
CREATE STREAM Door (card STRING, at TIMESTAMP) EVENT TIME at;
SELECT a.card FROM PATTERN [ EVERY a=Door -> b=Door -> c=Door WHERE timer:within(1 min) ];
"""


def test_a_warning_is_shown_with_its_place_and_is_no_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "denied.epl").write_text(DENIED)
    assert presage(monkeypatch, "check", "denied.epl") == 0
    printed = capsys.readouterr()
    assert printed.out == "denied.epl: 2 statements, no errors, 1 warning\n"
    assert "warning[GUARD_COVERS_LAST]" in printed.err
    assert "--> denied.epl:3:56" in printed.err
    assert "EVERY a=Door -> (b=Door -> c=Door) WHERE timer:within(1 min)" in printed.err
    assert presage(monkeypatch, "check", "denied.epl", "--format", "json") == 0
    (told,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert (told["code"], told["fault"], told["line"]) == ("GUARD_COVERS_LAST", "warning", 3)


def test_all_errors_of_a_file_are_shown_with_their_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.epl").write_text(BAD)
    assert presage(monkeypatch, "check", "bad.epl") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "error[UNKNOWN_ATTRIBUTE]" in printed.err
    assert "--> bad.epl:4:13" in printed.err
    assert "did you mean 'price'?" in printed.err
    assert "error[UNKNOWN_STREAM]" in printed.err
    assert "--> bad.epl:5:" in printed.err
    assert "\x1b[" not in printed.err


def test_errors_in_json_are_one_object_per_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.epl").write_text(BAD)
    assert presage(monkeypatch, "check", "bad.epl", "--format", "json") == 1
    printed = capsys.readouterr()
    errors = [json.loads(line) for line in printed.err.splitlines()]
    assert [(e["code"], e["line"], e["source"]) for e in errors] == [
        ("UNKNOWN_ATTRIBUTE", 4, "bad.epl"),
        ("UNKNOWN_STREAM", 5, "bad.epl"),
    ]
    assert printed.out == ""


def test_the_text_can_come_from_stdin(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert presage(monkeypatch, "check", "-") == 1
    assert "--> stdin:4:13" in capsys.readouterr().err


@pytest.mark.parametrize("quick", [True, False], ids=["direct", "through Typer"])
@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("missing.epl", "FILE_NOT_FOUND", "check the name"),
        ("good", "FILE_NOT_FOUND", "did you mean 'good.epl'?"),
        ("nowhere/good.epl", "FILE_NOT_FOUND", "there is no folder 'nowhere'"),
        ("folder", "FILE_UNREADABLE", "it is a folder"),
        ("latin.epl", "FILE_UNREADABLE", "line 2 is not UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_without_a_traceback(
    name: str,
    code: str,
    said: str,
    quick: bool,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "folder").mkdir()
    (folder / "good.epl").write_text(GOOD)
    (folder / "latin.epl").write_bytes(b"-- fine\n-- caf\xe9\n")
    assert presage(monkeypatch, "check", name, *([] if quick else ["--debug"])) == 1
    printed = capsys.readouterr().err
    assert f"error[{code}]" in printed
    assert said in printed
    assert "Traceback" not in printed


def test_a_mark_of_byte_order_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "marked.epl").write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert presage(monkeypatch, "check", "marked.epl") == 0


def test_an_empty_file_has_no_statements_and_no_errors(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty.epl").write_text("")
    assert presage(monkeypatch, "check", "empty.epl") == 0
    assert "0 statements" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["chekc", "a.epl"],
        ["check", "a.epl", "b.epl"],
        ["check", "--what", "a.epl"],
        ["query", "--rows", "x", "a"],
    ],
)
def test_wrong_usage_ends_with_code_2(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert presage(monkeypatch, *arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("events", ["Tick", "=ticks.csv", "Tick="])
def test_events_without_a_stream_or_a_path_are_wrong_usage(
    events: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "good.epl").write_text(GOOD)
    assert presage(monkeypatch, "query", "good.epl", "--events", events) == 2
    assert "STREAM=PATH" in capsys.readouterr().err


def test_the_version_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from presage import __version__

    assert presage(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"presage {__version__}\n"


def environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(SOURCE), "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def test_check_loads_no_library_for_data_and_is_quick(folder: Path) -> None:
    (folder / "good.epl").write_text(GOOD)
    code = (
        "import sys; sys.argv = ['presage', 'check', 'good.epl']; from presage.cli import main; main()\n"
        "print(*({'pyspark', 'pyarrow', 'pandas', 'numpy', 'numba', 'deltalake', 'typer', 'rich'} & set(sys.modules)))"
    )
    spent = []
    for _ in range(4):
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env=environment(folder),
            capture_output=True,
            text=True,
            check=True,
        )
        spent.append(time.perf_counter() - start)
    assert done.stdout.splitlines() == ["good.epl: 2 statements, no errors", ""]
    # A quarter of a second on an idle machine; half is promised. The tests share theirs with others.
    assert min(spent) < 1.5


def test_nobody_reading_the_output_is_no_error(folder: Path) -> None:
    (folder / "good.epl").write_text(GOOD)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "presage.cli", "check", "good.epl"],
        cwd=folder,
        env=environment(folder),
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_stdout_shows_no_traceback(folder: Path) -> None:
    (folder / "good.epl").write_text(GOOD)
    command = f"{sys.executable} -m presage.cli check good.epl >&-"
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, env=environment(folder), capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
