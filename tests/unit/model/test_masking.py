from __future__ import annotations

import json

import pytest

from presage.model.redaction import keep_out, masked


@pytest.mark.parametrize("secret", ["masked-one\n", 'mas"ked\\two', "maskéd\tthree", " masked four "])
def test_a_secret_is_kept_out_as_it_is_and_quoted(secret: str) -> None:
    keep_out(secret)
    for shown in (secret, secret.strip(), repr(secret), json.dumps(secret), json.dumps(secret, ensure_ascii=False)):
        assert "mask" not in masked(f"it said {shown}!")


def test_what_is_short_is_in_innocent_words_too() -> None:
    keep_out("is\n")
    assert masked("this is it") == "this is it"
