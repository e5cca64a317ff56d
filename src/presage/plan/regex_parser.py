"""The parser of regular expressions in Java's syntax; it refuses what RE2 cannot match as Java does."""

from __future__ import annotations

from presage.plan.regex_classes import Chars, RegexError, complement, named_class, union
from presage.plan.regex_tree import (
    CharClass,
    Either,
    Group,
    Node,
    Regex,
    Repeat,
    Sequence,
    TextStart,
    dot,
    ends_of,
    holds,
    one_of,
    single,
)

MAX_REPEATS = 1_000  # of RE2
MAX_DEPTH = 200
LINE_ENDS: Chars = ((0x0A, 0x0A), (0x0D, 0x0D), (0x85, 0x85), (0x2028, 0x2029))
_PLAIN_ESCAPES = {"t": 0x09, "n": 0x0A, "r": 0x0D, "f": 0x0C, "a": 0x07, "e": 0x1B}
_REFUSED_GROUPS = {
    "(?=": "(?=…) looks ahead",
    "(?!": "(?!…) looks ahead",
    "(?<=": "(?<=…) looks behind",
    "(?<!": "(?<!…) looks behind",
    "(?>": "(?>…) gives nothing back",
}


class Parser:
    """Follows the grammar of java.util.regex.Pattern. Flags apply up to the end of their group."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.groups = 0
        self.names: dict[str, int] = {}
        self.ignores_case = False
        self.dot_all = False
        self.many_lines = False
        self.bounded = False

    def parse(self) -> Regex:
        tree = self._either(0)
        if self.at < len(self.text):
            raise RegexError("a ')' closes nothing")
        return Regex(tree, self.groups, self.names, self.bounded)

    def _peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def _next(self) -> str:
        if self.at >= len(self.text):
            raise RegexError("it ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def _either(self, depth: int) -> Either:
        if depth > MAX_DEPTH:
            raise RegexError(f"its groups are nested deeper than {MAX_DEPTH} levels")
        options = [self._sequence(depth)]
        while self._peek() == "|":
            self.at += 1
            options.append(self._sequence(depth))
        if depth and any(option.at_end for option in options):
            raise RegexError(r"$ is inside a group; put it at the end of the pattern, or write \z")
        if len({option.at_end for option in options if option.nullable}) > 1:
            raise RegexError(r"$ is next to an alternative that may be empty; write \z")
        ends = union(*(option.ends for option in options))
        return Either(any(option.nullable for option in options), ends, tuple(options))

    def _sequence(self, depth: int) -> Sequence:
        parts: list[Node] = []
        while self.at < len(self.text) and self._peek() not in "|)":
            if self._is_end():
                return self._ended(parts)
            part = self._atom(depth)
            if part is not None:
                parts.append(self._repeated(part))
        return Sequence(all(p.nullable for p in parts), ends_of(parts), tuple(parts))

    def _is_end(self) -> bool:
        return self._peek() == "$" or self._peek(2) == r"\Z"

    def _ended(self, parts: list[Node]) -> Sequence:
        self.at += len("$") if self._peek() == "$" else len(r"\Z")
        if self.many_lines:
            raise RegexError("(?m) together with ^ or $")
        if self.at < len(self.text) and self._peek() not in "|)":
            raise RegexError(r"$ is not at the end; write \z, or leave it out")
        ends = ends_of(parts)
        last = parts[-1] if parts else None
        takes_all = isinstance(last, Repeat) and last.times in ("*", "+") and holds(last.inner.ends, 0x0A)
        if holds(ends, 0x0D) and not takes_all:
            raise RegexError(r"$ follows what may be a carriage return; write \z")
        return Sequence(all(p.nullable for p in parts), ends, tuple(parts), at_end=True)

    # -- one part ----------------------------------------------------------------------------------------

    def _atom(self, depth: int) -> Node | None:
        """None for flags that hold from here on."""
        c = self._next()
        if c == "(":
            return self._group(depth)
        if c == "[":
            chars = self._class()
            return one_of(chars)
        if c == ".":
            return CharClass(False, complement(()) if self.dot_all else complement(LINE_ENDS), dot(self.dot_all))
        if c == "^":
            return self._start()
        if c == "\\":
            return self._escaped()
        if c in "*+?":
            raise RegexError(f"'{c}' repeats nothing")
        if c == "{":
            raise RegexError("'{' begins no quantifier; write \\{")
        return one_of(self._cased(((ord(c), ord(c)),)))

    def _start(self) -> Node:
        if self.many_lines:
            raise RegexError("(?m) together with ^ or $")
        self.bounded = True
        return TextStart(True, ())

    def _escaped(self) -> Node:
        if self._peek() in ("b", "B"):
            self.bounded = True
            return CharClass(True, (), "\\" + self._next())
        if self._peek() == "A":
            self.at += 1
            self.bounded = True
            return TextStart(True, ())
        if self._peek() == "z":
            self.at += 1
            return CharClass(True, (), r"\z")
        return one_of(self._cased(self._escape()))

    def _escape(self) -> Chars:
        """The characters after a backslash, in a class or outside."""
        c = self._next()
        if c in _PLAIN_ESCAPES:
            return single(_PLAIN_ESCAPES[c])
        if c in "dDsSwWhHvVpP":
            return named_class(c, self._property() if c in "pP" else "", self.ignores_case)
        if c == "0":
            return single(self._octal())
        if c == "x":
            return single(self._hexadecimal())
        if c == "u":
            return single(self._digits(4))
        if c == "c":
            return single(ord(self._next()) ^ 64)
        if c.isdigit() or c == "k":
            raise RegexError(rf"\{c} looks back at a group")
        if c.isalpha() and c.isascii():
            raise RegexError(rf"\{c} has no meaning here")
        return single(ord(c))

    def _property(self) -> str:
        if self._peek() != "{":
            return self._next()
        end = self.text.find("}", self.at)
        if end < 0:
            raise RegexError(r"\p{ is not closed")
        name, self.at = self.text[self.at + 1 : end], end + 1
        return name

    def _octal(self) -> int:
        start = self.at
        while self.at < min(start + 3, len(self.text)) and self._peek() in "01234567":
            if int(self.text[start : self.at + 1], 8) > 0o377:
                break
            self.at += 1
        if self.at == start:
            raise RegexError(r"\0 needs digits from 0 to 7")
        return int(self.text[start : self.at], 8)

    def _hexadecimal(self) -> int:
        if self._peek() != "{":
            return self._digits(2)
        end = self.text.find("}", self.at)
        length = end - self.at - 1
        self.at += 1
        value = self._digits(length) if 0 < length <= 6 else 0x110000
        self.at += 1
        return value

    def _digits(self, count: int) -> int:
        digits = self._peek(count)
        if len(digits) < count or not all(d in "0123456789abcdefABCDEF" for d in digits):
            raise RegexError("a hexadecimal number is expected")
        self.at += count
        return int(digits, 16)

    # -- groups ------------------------------------------------------------------------------------------

    def _group(self, depth: int) -> Node | None:
        flags = self.ignores_case, self.dot_all, self.many_lines
        number = 0
        if self._peek() == "?":
            start = self.at - 1
            for form, why in _REFUSED_GROUPS.items():
                if self.text.startswith(form, start):
                    raise RegexError(why)
            self.at += 1
            if self._peek() == "<":
                number = self._named()
            elif self._flags() == ")":
                return None
        else:
            self.groups += 1
            number = self.groups
        inner = self._either(depth + 1)
        if self.at >= len(self.text):
            raise RegexError("a '(' is not closed")
        self.at += 1
        self.ignores_case, self.dot_all, self.many_lines = flags
        return Group(inner.nullable, inner.ends, inner=inner, number=number)

    def _named(self) -> int:
        end = self.text.find(">", self.at)
        name = self.text[self.at + 1 : end] if end > 0 else ""
        if not (name.isascii() and name.isalnum() and name[0].isalpha()):
            raise RegexError("a group is named (?<name>…), with letters and digits")
        if name in self.names:
            raise RegexError(f"two groups are named '{name}'")
        self.at = end + 1
        self.groups += 1
        self.names[name] = self.groups
        return self.groups

    def _flags(self) -> str:
        """Up to the ':' or ')' that ends them, which is returned."""
        value = True
        while True:
            c = self._next()
            if c in ":)":
                return c
            if c == "-":
                value = False
            elif c == "i":
                self.ignores_case = value
            elif c == "s":
                self.dot_all = value
            elif c == "m":
                self.many_lines = value
            else:
                raise RegexError(f"(?{c} is not known")

    # -- repeats -----------------------------------------------------------------------------------------

    def _repeated(self, part: Node) -> Node:
        c = self._peek()
        if not c or c not in "*+?{":
            return part
        self.at += 1
        times, low, high = (c, 0 if c in "*?" else 1, 1 if c == "?" else None) if c != "{" else self._counted()
        if self._peek() == "+":
            raise RegexError(f"{times}+ gives nothing back")
        if part.nullable and high != 1:
            raise RegexError("what is repeated may be empty")
        if isinstance(part, TextStart) or (isinstance(part, CharClass) and part.nullable):
            raise RegexError("a place is repeated")
        lazy = self._peek() == "?"
        self.at += lazy
        if self._peek() and self._peek() in "*+?{":
            raise RegexError("a repeat is repeated; put it into (?:…)")
        return Repeat(part.nullable or low == 0, part.ends, inner=part, times=times + "?" * lazy)

    def _counted(self) -> tuple[str, int, int | None]:
        end = self.text.find("}", self.at)
        inside = self.text[self.at : end] if end >= 0 else ""
        low, comma, high = inside.partition(",")
        if not (low.isascii() and low.isdigit()) or (high and not (high.isascii() and high.isdigit())):
            raise RegexError("'{' begins no quantifier; write \\{")
        self.at = end + 1
        most = int(high) if high else None if comma else int(low)
        if max(int(low), most or 0) > MAX_REPEATS:
            raise RegexError(f"it repeats more than {MAX_REPEATS} times")
        if most is not None and most < int(low):
            raise RegexError(f"{{{inside}}} counts down")
        if most == 0:
            raise RegexError(f"{{{inside}}} repeats nothing")
        return f"{{{inside}}}", int(low), most

    # -- classes -----------------------------------------------------------------------------------------

    def _class(self) -> Chars:
        """A class after its '[', including an intersection with `&&`."""
        negated = self._peek() == "^"
        self.at += negated
        chars = self._items()
        if self._peek(2) == "&&":
            self.at += 2
            right = self._items()
            if self._peek(2) == "&&":
                raise RegexError("more than one && in a class; nest them: [a-z&&[^b]]")
            if chars is None or right is None:
                raise RegexError("&& needs a class on both sides")
            chars = complement(union(complement(chars), complement(right)))
        if chars is None:
            raise RegexError("a class begins with ']' or '&'; write it with a backslash")
        if self._next() != "]":
            raise RegexError("a class is not closed")
        return complement(chars) if negated else chars

    def _items(self) -> Chars | None:
        found: list[Chars] = []
        while self._peek() and self._peek() != "]" and self._peek(2) != "&&":
            if self._peek() == "[":
                self.at += 1
                found.append(self._class())
            else:
                found.append(self._range())
        return union(*found) if found else None

    def _range(self) -> Chars:
        low = self._item()
        after = self._peek(2)
        if len(low) != 1 or low[0][0] != low[0][1] or after[:1] != "-" or after[1:] in ("]", "[", ""):
            return self._cased(low)
        self.at += 1
        if self._peek(2) == "&&":
            raise RegexError("&& ends a range")
        high = self._item()
        if len(high) != 1 or high[0][0] != high[0][1]:
            raise RegexError("a range ends with a class")
        if high[0][0] < low[0][0]:
            raise RegexError("a range counts down")
        return self._cased(((low[0][0], high[0][0]),))

    def _item(self) -> Chars:
        c = self._next()
        return self._escape() if c == "\\" else single(ord(c))

    def _cased(self, chars: Chars) -> Chars:
        """With (?i): both cases of the letters a to z, as in Java."""
        if not self.ignores_case:
            return chars
        more = [chars]
        for low, high in chars:
            for first, other in ((ord("a"), ord("A")), (ord("A"), ord("a"))):
                start, end = max(low, first), min(high, first + 25)
                if start <= end:
                    more.append(((start - first + other, end - first + other),))
        return union(*more)
