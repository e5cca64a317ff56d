"""Random sequence queries over a catalog, made with an aim, so that each class of query is common.

An aim says where shared variables stand; all else is drawn alike: constants, `_`, variables of one subgoal, conditions,
Kleene plus at any place, what is selected.
"""

from __future__ import annotations

from random import Random

from property.sequence_databases import DOMAIN, Declared, Relations
from reference.sequence_conditions import compared, either, member, negated, one_of, summed
from reference.sequence_semantics import Anything, Condition, Constant, Part, Plus, Query, Term, Variable

# Where shared variables stand: nowhere; anywhere but selected; in every subgoal's key; in the keys of a prefix;
# anywhere. A linked query has predicates over several subgoals, a wild one whatever there is.
AIMS = {
    "regular": ("plain", "plain", "grounded"),
    "extended regular": ("everywhere",),
    "safe": ("prefix",),
    "unsafe": ("scattered", "linked", "wild"),
    "any": ("plain", "grounded", "everywhere", "prefix", "scattered", "linked", "wild", "wild"),
}
Typed = tuple[str, str]  # a variable and its type


def query_of(dice: Random, catalog: list[Declared], known: Relations, kind: str) -> Query:
    """A query that is meant to be of this class; it need not be."""
    return Drawing(dice, catalog, known, dice.choice(AIMS[kind])).query()


def condition_of(dice: Random, variables: list[Typed], known: Relations) -> Condition:
    """A condition over all of one or two variables."""
    if len(variables) == 1:
        return condition_of_one(dice, *variables[0], known)
    (first, kind), (second, other) = variables
    left, right = Variable(first), Variable(second)
    if kind != other:
        return either(condition_of_one(dice, first, kind, known), condition_of_one(dice, second, other, known))
    choice = dice.choice(["compared", "compared", "member" if kind == "STRING" else "summed"])
    if choice == "member":
        return member("Office", known["Office"], left, right)
    if choice == "summed":
        return summed(left, right, dice.choice(["<", ">", "="]), dice.randint(2, 5))
    return compared(left, dice.choice(["=", "<>", "<", "<="]), right)


def condition_of_one(dice: Random, name: str, kind: str, known: Relations) -> Condition:
    variable, constant = Variable(name), Constant(dice.choice(DOMAIN[kind]))
    relation = "Hall" if kind == "STRING" else "Big"
    choice = dice.choice(["compared", "compared", "member", "member", "absent", "listed", "either", "pair"])
    inside = member(relation, known[relation], variable)
    if choice == "member":
        return inside
    if choice == "absent":
        return negated(inside)
    if choice == "either":
        return either(inside, compared(variable, "=", constant))
    if choice == "listed":
        return one_of(variable, sorted({dice.choice(DOMAIN[kind]) for _ in range(3)}))
    if choice == "pair" and kind == "STRING":
        terms = (variable, constant) if dice.random() < 0.5 else (constant, variable)
        return member("Office", known["Office"], *terms)
    return compared(variable, dice.choice(["=", "<>", "<", ">="]), constant)


class Drawing:
    """One query in the making."""

    def __init__(self, dice: Random, catalog: list[Declared], known: Relations, aim: str) -> None:
        self.dice, self.catalog, self.known, self.aim = dice, catalog, known, aim
        self.types: dict[str, str] = {}
        self.locals = 0

    def chance(self, one_in: int) -> bool:
        return self.dice.randrange(one_in) == 0

    def query(self) -> Query:
        count = self.dice.choice([1, 2, 2, 2, 3, 3, 3, 4])
        streams, placed = self.layout(max(count, 2) if self.aim in ("grounded", "scattered", "linked") else count)
        parts: list[Part] = []
        for stream, fixed in zip(streams, placed, strict=True):
            parts.append(self.part(stream, fixed, sorted({name for part in parts for name in part.visible})))
        visible = sorted({name for part in parts for name in part.visible})
        shared = {name for fixed in placed for name in fixed.values()}
        where = self.where(parts, visible)
        return Query(tuple(parts), where, self.selected(visible, shared))

    # -- where shared variables stand -----------------------------------------------------------------------------

    def layout(self, count: int) -> tuple[list[Declared], list[dict[int, str]]]:
        """For each subgoal its stream, and the shared variables by position."""
        streams = [self.dice.choice(self.catalog) for _ in range(count)]
        placed: list[dict[int, str]] = [{} for _ in streams]
        if self.aim in ("everywhere", "prefix"):
            keyed = [each for each in self.catalog if each.places("STRING", in_key=True)]
            streams = [self.dice.choice(keyed) for _ in streams]
            length = count if self.aim == "everywhere" else self.dice.randint(1, max(count - 1, 1))
            self.in_keys(streams, placed, "x", length)
            if self.aim == "prefix":
                self.tail(streams, placed, keyed, length)
            elif self.chance(3):
                self.in_keys(streams, placed, "y", length)
        elif self.aim in ("grounded", "scattered") or (self.aim in ("linked", "wild") and self.chance(2)):
            for name in ["x", "y"][: self.dice.choice([1, 1, 2])]:
                self.anywhere(streams, placed, name)
        return streams, placed

    def in_keys(self, streams: list[Declared], placed: list[dict[int, str]], name: str, length: int) -> None:
        """In the key of the first subgoals, at one position of each stream; nowhere unless it can be in all of them. At
        times a subgoal has it at another position, too."""
        chosen: dict[str, int] = {}
        for each, fixed in zip(streams[:length], placed, strict=False):
            free = [i for i in each.places("STRING", in_key=True) if i not in fixed]
            if not free:
                return
            place = chosen.setdefault(each.stream.name, self.dice.choice(free))
            if place not in free:
                return
        for each, fixed in zip(streams[:length], placed, strict=False):
            fixed[chosen[each.stream.name]] = name
            free = [i for i in each.places("STRING") if i not in fixed]
            if free and self.chance(6):
                fixed[self.dice.choice(free)] = name
        self.types[name] = "STRING"

    def tail(self, streams: list[Declared], placed: list[dict[int, str]], keyed: list[Declared], length: int) -> None:
        """After the prefix mostly other streams, and at times a variable that the whole query shares."""
        used = {each.stream.name for each in streams[:length]}
        others = [each for each in self.catalog if each.stream.name not in used]
        if others and not self.chance(4):
            streams[length:] = [self.dice.choice(others) for _ in streams[length:]]
        if all(each in keyed for each in streams) and self.chance(3):
            self.in_keys(streams, placed, "y", len(streams))

    def anywhere(self, streams: list[Declared], placed: list[dict[int, str]], name: str) -> None:
        """In two or more subgoals, in keys and values, perhaps twice in one."""
        kind = self.types[name] = self.dice.choice(["STRING", "STRING", "STRING", "INT"])
        skipped = self.dice.randint(-3, len(streams) - 1)
        for number, (each, fixed) in enumerate(zip(streams, placed, strict=True)):
            free = [i for i in each.places(kind) if i not in fixed]
            if free and number != skipped:
                fixed[self.dice.choice(free)] = name

    # -- parts ----------------------------------------------------------------------------------------------------

    def part(self, each: Declared, fixed: dict[int, str], before: list[str]) -> Part:
        terms = tuple(Variable(fixed[i]) if i in fixed else self.term(each, i) for i in range(len(each.types)))
        own = sorted({term.name for term in terms if isinstance(term, Variable)})
        condition = self.condition(own) if own and self.chance(4) else None
        plus = self.plus(own, sorted(set(fixed.values())), before) if self.chance(4) else None
        return Part(each.stream.name, terms, condition, plus)

    def term(self, each: Declared, place: int) -> Term:
        kind = each.types[place]
        # Also names that a plus keeps to itself: outside they are other variables.
        old = [name for name, own in self.types.items() if own == kind]
        if self.aim == "wild" and old and self.chance(3):
            return Variable(self.dice.choice(old))
        choice = self.dice.choice(["variable", "variable", "anything", "constant"])
        if choice == "anything":
            return Anything()
        if choice == "constant":
            return Constant(self.dice.choice(DOMAIN[kind]))
        self.locals += 1
        name = f"l{self.locals}"
        self.types[name] = kind
        return Variable(name)

    def plus(self, own: list[str], fixed: list[str], before: list[str]) -> Plus:
        """It shares what the aim shares; at times more, in a wild query anything."""
        if self.aim == "wild":
            shared = [name for name in own if self.chance(2)]
        else:
            shared = fixed if not self.chance(8) else []
            shared = shared + [name for name in own if name not in fixed and self.chance(8)]
        condition = self.condition(own) if own and self.chance(2) else None
        outer = [name for name in before if name not in own]
        if self.aim in ("linked", "wild") and own and outer and self.chance(3):
            condition = self.condition([self.dice.choice(own), self.dice.choice(outer)], both=True)
        return Plus(tuple(shared), condition)

    def condition(self, names: list[str], both: bool = False) -> Condition:
        if not both:
            names = self.dice.sample(names, len(names))[: self.dice.choice([1, 1, 2])]
        return condition_of(self.dice, [(name, self.types[name]) for name in names], self.known)

    # -- the statement --------------------------------------------------------------------------------------------

    def where(self, parts: list[Part], visible: list[str]) -> tuple[Condition, ...]:
        found = []
        for part in parts:
            if part.visible and self.chance(4):
                found.append(self.condition(sorted(part.visible)))
        if len(visible) > 1 and (self.aim == "linked" or (self.aim == "wild" and self.chance(3))):
            found.append(self.condition(self.dice.sample(visible, 2), both=True))
        return tuple(found)

    def selected(self, visible: list[str], shared: set[str]) -> tuple[str, ...]:
        if self.aim == "grounded":
            return tuple(name for name in visible if name in shared)
        if self.aim in ("everywhere", "prefix") and not self.chance(5):
            visible = [name for name in visible if name not in shared]
        if not visible or self.chance(2):
            return ()
        return tuple(self.dice.sample(visible, len(visible))[: self.dice.choice([1, 1, 2])])
