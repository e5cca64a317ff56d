"""Spellings of RDF and XML Schema; apart from the syntax tree, which most queries do not load."""

from __future__ import annotations

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDF_TYPE, RDF_FIRST, RDF_REST, RDF_NIL = RDF + "type", RDF + "first", RDF + "rest", RDF + "nil"
LANG_STRING = RDF + "langString"
XSD = "http://www.w3.org/2001/XMLSchema#"
XSD_STRING, XSD_BOOLEAN = XSD + "string", XSD + "boolean"
XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE = XSD + "integer", XSD + "decimal", XSD + "double"
