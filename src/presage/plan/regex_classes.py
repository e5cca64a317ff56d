"""Character classes of Java (`\\s`, `\\p{Alpha}`) as ranges of code points, and their complements."""

from __future__ import annotations

from functools import cache

Chars = tuple[tuple[int, int], ...]  # ranges that ascend and do not touch
LAST = 0x10FFFF


class RegexError(ValueError):
    """Why a regular expression is refused."""


def union(*several: Chars) -> Chars:
    found: list[tuple[int, int]] = []
    for low, high in sorted(pair for chars in several for pair in chars):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def complement(chars: Chars) -> Chars:
    found, start = [], 0
    for low, high in chars:
        if low > start:
            found.append((start, low - 1))
        start = high + 1
    return (*found, (start, LAST)) if start <= LAST else tuple(found)


def named_class(letter: str, name: str, ignores_case: bool) -> Chars:
    r"""`\d`, `\p{Alpha}` and so on; `name` is empty unless the letter is p or P, and an upper letter denies."""
    if letter in "pP":
        chars = _POSIX.get(name)
        if chars is None:
            chars = _category(name.removeprefix("Is") if len(name) > 2 else name)
        if ignores_case and name.removeprefix("Is") in ("Lower", "Upper", "Lu", "Ll", "Lt"):
            raise RegexError(rf"\{letter}{{{name}}} together with (?i)")
    else:
        chars = _LETTERS[letter.lower()]
    return complement(chars) if letter.isupper() else chars


@cache
def _category(name: str) -> Chars:
    """By Python's version of Unicode: later characters are in no class."""
    import unicodedata  # 1 MB that most programs never need

    if name not in _CATEGORIES:
        raise RegexError(rf"\p{{{name}}} is no known class: write a category as \p{{L}}, or \p{{Alpha}}")
    found: list[tuple[int, int]] = []
    for code in range(LAST + 1):
        if unicodedata.category(chr(code)).startswith(name):
            if found and found[-1][1] == code - 1:
                found[-1] = (found[-1][0], code)
            else:
                found.append((code, code))
    return tuple(found)


def _of(*ranges: str) -> Chars:
    return union(*(((ord(r[0]), ord(r[-1])),) for r in ranges))


_CATEGORIES = frozenset(
    group + kind
    for group, kinds in {"L": "ultmo", "M": "nce", "N": "dlo", "P": "cdseifo", "S": "mcko", "Z": "slp"}.items()
    for kind in ("", *kinds)
)
_DIGIT, _LOWER, _UPPER = _of("09"), _of("az"), _of("AZ")
_ALPHA = union(_LOWER, _UPPER)
_ALNUM = union(_ALPHA, _DIGIT)
_SPACE = _of(" ", "\t\r")
_POSIX: dict[str, Chars] = {
    "Lower": _LOWER,
    "Upper": _UPPER,
    "ASCII": _of("\0\x7f"),
    "Alpha": _ALPHA,
    "Digit": _DIGIT,
    "Alnum": _ALNUM,
    "Punct": _of("!/", ":@", "[`", "{~"),
    "Graph": _of("!~"),
    "Print": _of(" ~"),
    "Blank": _of(" ", "\t"),
    "Cntrl": _of("\0\x1f", "\x7f"),
    "XDigit": union(_DIGIT, _of("af", "AF")),
    "Space": _SPACE,
}
_LETTERS: dict[str, Chars] = {
    "d": _DIGIT,
    "s": _SPACE,
    "w": union(_ALNUM, _of("_")),
    "h": _of(" ", "\t", "\xa0", "\u1680", "\u180e", "\u2000\u200a", "\u202f", "\u205f", "\u3000"),
    "v": _of("\n\r", "\x85", "\u2028\u2029"),
}
