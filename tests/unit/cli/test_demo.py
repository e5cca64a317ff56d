"""Options of `presage demo` that would change nothing are refused, before anything starts."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from presage.cli.app import app


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (["building", "--serve"], "presage demo campus takes it"),
        (["knowledge", "--for", "5"], "presage demo campus takes it"),
        (["building", "--sensors", "500"], "presage demo campus takes it"),
        (["campus", "--files", "here"], "presage demo knowledge takes it"),
    ],
)
def test_an_option_of_another_demonstration_is_refused(arguments: list[str], fix: str) -> None:
    done = CliRunner().invoke(app, ["demo", *arguments])
    assert done.exit_code == 1
    assert "UNSUPPORTED" in done.stderr
    assert fix in done.stderr
