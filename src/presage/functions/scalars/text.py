"""Functions of texts: parts, patterns, encodings, digests, JSON and addresses."""

from __future__ import annotations

from presage.functions.scalars.entry import entry

_TEST = "STRING, STRING -> BOOLEAN"
_PADDED = "STRING, INT, STRING? -> STRING"
_GROUP_OF = "STRING, STRING, INT? -> STRING"
_GROUPS_OF = "STRING, STRING, INT? -> ARRAY<STRING>"
_THREE = "STRING, STRING, STRING -> STRING"
_PART = "STRING, INT, INT? -> STRING"
_PLACE = "STRING, STRING, INT? -> INT"

TEXT = (
    entry("ascii", "STRING -> INT", "code point of the first character"),
    entry("base64", "STRING -> STRING", "the text's bytes in UTF-8 as base 64"),
    entry("bit_length", "STRING -> INT", "length in bits"),
    entry("btrim", "STRING, STRING? -> STRING", "without the given characters (blanks) at both ends"),
    entry("chr char", "LONG -> STRING", "the character with this code, modulo 256"),
    entry("length char_length character_length len", "STRING -> INT", "number of characters"),
    entry("concat", "STRING+ -> STRING | ARRAY<T>+ -> ARRAY<T>", "texts or arrays one after the other; NULL if one is"),
    entry(
        "concat_ws",
        "STRING, STRING+ -> STRING | STRING, ARRAY<STRING>+ -> STRING",
        "texts that are not NULL, joined with the first argument between them",
    ),
    entry("contains", _TEST, "whether the second text occurs in the first"),
    entry("crc32", "STRING -> LONG", "cyclic redundancy check"),
    entry("elt", "INT, STRING+ -> STRING", "the n-th of the texts, from 1; NULL outside"),
    entry("endswith", _TEST, "whether the first text ends with the second"),
    entry("find_in_set", "STRING, STRING -> INT", "place of a text in a comma-separated list, from 1; 0 if absent"),
    entry("get_json_object", "STRING, STRING -> STRING", "value at a path ('$.a.b') in a JSON text"),
    entry("hash", "X+ -> INT", "hash of the values (Murmur 3)"),
    entry("initcap", "STRING -> STRING", "first letter of each word in upper case, the others in lower case"),
    entry("instr", "STRING, STRING -> INT", "place of the second text in the first, from 1; 0 if absent"),
    entry("json_array_length", "STRING -> INT", "number of elements of a JSON array"),
    entry("json_object_keys", "STRING -> ARRAY<STRING>", "keys of a JSON object"),
    entry("left", "STRING, INT -> STRING", "the first n characters"),
    entry("levenshtein", "STRING, STRING -> INT", "number of edits between two texts"),
    entry("locate position", _PLACE, "place of the first text in the second, from 1; 0 if absent"),
    entry("lower lcase", "STRING -> STRING", "in lower case"),
    entry("lpad", _PADDED, "filled on the left, or cut, to n characters; NULL past a million"),
    entry("ltrim", "STRING -> STRING", "without blanks at the start"),
    entry("luhn_check", "STRING -> BOOLEAN", "whether the digits pass the Luhn test"),
    entry("md5", "STRING -> STRING", "MD5 digest, in hexadecimal"),
    entry("octet_length", "STRING -> INT", "length in bytes of UTF-8"),
    entry("overlay", "STRING, STRING, INT, INT? -> STRING", "the second text laid over the first from a place on"),
    entry("parse_url", "STRING, STRING, STRING? -> STRING", "a part ('HOST', 'PATH', 'QUERY' and key) of an address"),
    entry("regexp_count", "STRING, STRING -> INT", "number of places that match", arg1="regex"),
    entry("regexp_extract", _GROUP_OF, "group n (1) of the first match", arg1="regex", arg2="group"),
    entry("regexp_extract_all", _GROUPS_OF, "group n (1) of every match", arg1="regex", arg2="group"),
    entry("regexp_instr", "STRING, STRING -> INT", "place of the first match, from 1; 0 if absent", arg1="regex"),
    entry("regexp_like rlike regexp", _TEST, "whether a part of the text matches", arg1="regex"),
    entry("regexp_replace", _THREE, "every match replaced; $1 is group 1", arg1="regex", arg2="replacement"),
    entry("regexp_substr", "STRING, STRING -> STRING", "the first match; NULL if absent", arg1="regex"),
    entry("repeat", "STRING, INT -> STRING", "the text n times; NULL past a million"),
    entry("replace", "STRING, STRING, STRING? -> STRING", "every occurrence replaced (removed)"),
    entry("reverse", "STRING -> STRING | ARRAY<T> -> ARRAY<T>", "characters or elements in the opposite order"),
    entry("right", "STRING, INT -> STRING", "the last n characters"),
    entry("rpad", _PADDED, "filled on the right, or cut, to n characters; NULL past a million"),
    entry("rtrim", "STRING -> STRING", "without blanks at the end"),
    entry("sha1 sha", "STRING -> STRING", "SHA-1 digest, in hexadecimal"),
    entry("sha2", "STRING, INT -> STRING", "SHA-2 digest of 224, 256, 384 or 512 bits", arg1="bits"),
    entry("soundex", "STRING -> STRING", "code of how an English word sounds"),
    entry("space", "INT -> STRING", "n blanks; NULL past a million"),
    entry("split", _GROUPS_OF, "cut at every match, into at most n parts", arg1="regex"),
    entry("split_part", "STRING, STRING, INT -> STRING", "the n-th part between delimiters, from 1; NULL for n = 0"),
    entry("startswith", _TEST, "whether the first text starts with the second"),
    entry("substring substr mid", _PART, "from a place on, counted from 1, at most n characters"),
    entry("substring_index", "STRING, STRING, INT -> STRING", "the text before the n-th delimiter"),
    entry("translate", _THREE, "characters of the second text become those of the third"),
    entry("trim", "STRING -> STRING", "without blanks at both ends"),
    entry("unbase64", "STRING -> STRING", "text of base 64; NULL if it is none (Spark gives BINARY)"),
    entry("unhex", "STRING -> STRING", "text of hexadecimal digits; NULL if it is none (Spark gives BINARY)"),
    entry("upper ucase", "STRING -> STRING", "in upper case"),
    entry("url_decode", "STRING -> STRING", "text of an encoded address part; NULL if it is none"),
    entry("url_encode", "STRING -> STRING", "encoded as part of an address"),
    entry("xxhash64", "X+ -> LONG", "64-bit hash of the values (xxHash)"),
)
