"""Files that would end the process are refused before they are parsed; what ontologies really have is read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from presage.declarations.contexts import read_context
from presage.errors import PresageError
from presage.operators.knowledge import rdf_limits
from presage.operators.knowledge.rdf_files import check_source, read_source

RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x/"'
MANY = 20_000


def xml(dtd: str, value: str) -> str:
    inner = f'<rdf:Description rdf:about="http://x/a"><x:p>{value}</x:p></rdf:Description>'
    return f'<?xml version="1.0"?><!DOCTYPE rdf:RDF [{dtd}]><rdf:RDF {RDF}>{inner}</rdf:RDF>'


def terms(first: int, count: int) -> str:
    return ",".join(f'"t{n}":"http://x/{n}"' for n in range(first, first + count))


def laughs(reference: str) -> str:
    made = "".join(f'<!ENTITY a{n} "{(reference + f"a{n - 1};") * 10}">' for n in range(1, 12))
    return xml(f'<!ENTITY a0 "aaaaaaaaaa">{made}', "&a11;")


def nested(before: str, inner: str, after: str, count: int = MANY) -> str:
    return before * count + inner + after * count


ABOUT = "<http://x/a> <http://x/p> <<( "
SCOPED = f'"a":{{"@id":"http://x/a","@context":{{{terms(0, 1_000)}}}}}'
BOMBS = {
    "laughs.rdf": laughs("&"),
    "hidden_laughs.rdf": laughs("&#38;"),
    "long_entity.rdf": xml(f'<!ENTITY a "{"a" * 100_000}">', "&a;" * 1_000),
    "of_a_file.rdf": xml('<!ENTITY a SYSTEM "file:///etc/passwd">', "&a;"),
    "of_the_dtd.rdf": xml("<!ENTITY % a \"<!ENTITY b 'b'>\"> %a;", "&b;"),
    "deep.rdf": f"<rdf:RDF {RDF}>{nested('<rdf:Description><x:p>', '', '</x:p></rdf:Description>')}</rdf:RDF>",
    "triples.ttl": f"{nested(ABOUT, '<http://x/a> <http://x/p> 1', ')>>', 200_000)} .",
    "triples.nt": f"{nested(ABOUT, '<http://x/a> <http://x/p> <http://x/a>', ')>>', 200_000)} .",
    "arrays.jsonld": nested("[", "", "]"),
    "objects.jsonld": nested('{"http://x/p":', "1", "}"),
    "lists.jsonld": '{"http://x/p":' + nested('{"@list":[', "", "]}") + "}",
    "graphs.jsonld": nested('{"@graph":[', "", "]}"),
    "reverse.jsonld": nested('{"@reverse":{"http://x/p":', '{"@id":"http://x/a"}', "}}"),
    "contexts.jsonld": nested('{"@context":{},"http://x/p":', "1", "}"),
    "chain.jsonld": '{"@context":{' + ",".join(f'"a{n}":"a{n + 1}:x"' for n in range(MANY)) + '},"a0":1}',
    "held.jsonld": "".join(f'{{"@context":{{{terms(n * 1_000, 1_000)}}},"p:p":' for n in range(64)) + "1" + "}" * 64,
    "used.jsonld": f'{{"@context":{{{SCOPED}}},"@graph":[' + ",".join(['{"a":{"t1":1}}'] * MANY) + "]}",
    "typed.jsonld": f'{{"@context":{{{SCOPED}}},"@graph":[' + ",".join(['{"@type":"a"}'] * MANY) + "]}",
    "twice.jsonld": '{"@context":{' + ",".join(f'"a{n}":"a{n + 1}:x"' for n in range(MANY)) + '},"@context":{},"a0":1}',
}


def test_no_file_ends_the_process(tmp_path: Path) -> None:
    for name, text in BOMBS.items():
        (tmp_path / name).write_text(text)
    code = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from presage.errors import PresageError
from presage.operators.knowledge.rdf_files import check_source
for path in map(Path, sys.argv[1:]):
    try:
        check_source(path.read_bytes(), path.name)
    except PresageError as refused:
        print(path.name, refused.code, flush=True)
"""
    files = [str(tmp_path / name) for name in BOMBS]
    done = subprocess.run(
        [sys.executable, "-c", code, *files], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    told = dict(line.split() for line in done.stdout.splitlines())
    entities = {"laughs.rdf", "hidden_laughs.rdf", "of_a_file.rdf", "of_the_dtd.rdf"}
    assert told == {name: "KNOWLEDGE_NOT_RDF" if name in entities else "LIMIT" for name in BOMBS}


FINE = {
    "entities.owl": xml('<!ENTITY xsd "http://www.w3.org/2001/XMLSchema#">', "&xsd;string &amp; &xsd;date"),
    "elsewhere.rdf": xml("", "x").replace("<!DOCTYPE rdf:RDF []>", '<!DOCTYPE rdf:RDF SYSTEM "http://x/y.dtd">'),
    "context.jsonld": f'{{"@context":[{{{terms(0, 3_000)}}},{{"p":"x:p","x":"http://x/"}}],"p":1}}',
    "many.jsonld": "[" + ",".join([f'{{"@context":{{{terms(0, 3)}}},"t1":1}}'] * MANY) + "]",
    "numbers.jsonld": '{"http://x/p": ' + "9" * 5_000 + "}",
    "strings.ttl": '<http://x/a> <http://x/p> "' + "<<( " * 999 + '" , """' + "<<( " * 999 + '""" . # ' + "<<" * 999,
    "triples.ttl": "".join(f"<http://x/{n}> {ABOUT[13:]}<http://x/a> <http://x/p> {n} )>> .\n" for n in range(999)),
    "deep.ttl": f"<http://x/a> <http://x/p> {nested('[ <http://x/p> ', '1', ' ]')} .",
}


@pytest.mark.parametrize("name", FINE)
def test_what_is_large_or_has_entities_and_contexts_is_read(name: str) -> None:
    assert check_source(FINE[name].encode(), name) > 0


def test_levels_are_counted_and_the_limit_is_named() -> None:
    def objects(count: int) -> bytes:
        return nested('{"http://x/p":', "1", "}", count).encode()

    assert check_source(objects(rdf_limits.MAX_LEVELS), "a.jsonld") == rdf_limits.MAX_LEVELS
    with pytest.raises(PresageError, match=r"'a.jsonld' exceeds the limit of 250 \(levels of JSON\)"):
        check_source(objects(rdf_limits.MAX_LEVELS + 1), "a.jsonld")


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ttl"
    path.write_text("<http://x/a> <http://x/p> 1 .")
    assert read_source(path)
    monkeypatch.setattr(rdf_limits, "MAX_BYTES", 10)
    with pytest.raises(PresageError, match="bytes of a file of knowledge"):
        read_source(path)


@pytest.mark.parametrize(
    ("context", "told"),
    [
        ({f"a{n}": f"a{n + 1}:x" for n in range(MANY)}, "more than 100 names are defined through each other"),
        ([{f"a{n}": f"http://x/{n}"} for n in range(MANY)], None),
    ],
)
def test_contexts_of_streams_neither_overflow_nor_grow_slow(context: object, told: str | None) -> None:
    text = json.dumps({"@context": context})
    if told is None:
        assert len(read_context(text, "c.jsonld").terms) == MANY
        return
    with pytest.raises(PresageError, match=told):
        read_context(text, "c.jsonld")
