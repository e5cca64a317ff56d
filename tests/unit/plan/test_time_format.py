"""Patterns of times: their parts, and what is wrong with them."""

from __future__ import annotations

import pytest

from presage.plan.time_format import Letters, check_format, check_parse_format, parse_format


def test_a_pattern_falls_into_fields_and_texts() -> None:
    assert parse_format("yyyy-MM'T'H''") == [Letters("y", 4), "-", Letters("M", 2), "T", Letters("H", 1), "'"]
    assert parse_format("'o''clock' h") == ["o'clock", " ", Letters("h", 1)]


@pytest.mark.parametrize("pattern", ["yyyy-MM-dd HH:mm:ss.SSSSSS", "EEEE d MMMM yy", "hh 'o''clock' a", "XXX", ""])
def test_a_good_pattern_prints(pattern: str) -> None:
    assert check_format(pattern) is None


@pytest.mark.parametrize("pattern", ["yyyyy", "b", "MMMMM", "'open", "[yyyy]", "{", "V", "aa", "SSSSSSS", "A"])
def test_a_bad_pattern_is_found(pattern: str) -> None:
    assert check_format(pattern)


def test_reading_takes_optional_parts_but_no_names_of_days() -> None:
    assert check_parse_format("yyyy-MM-dd[ HH:mm]") is None
    assert check_parse_format("yyyy[") == "[ and ] do not match"
    assert check_parse_format("EEE dd") == "the letter E has no meaning"
