"""Functions of strings: parts, patterns, encodings, digests, JSON and addresses."""

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
    entry("ascii", "STRING -> INT", "the code point of the first character"),
    entry("base64", "STRING -> STRING", "the UTF-8 bytes of the string in base 64"),
    entry("bit_length", "STRING -> INT", "the length in bits"),
    entry("btrim", "STRING, STRING? -> STRING", "without the given characters (default: blanks) at both ends"),
    entry("chr char", "LONG -> STRING", "the character with this code, modulo 256"),
    entry("length char_length character_length len", "STRING -> INT", "the number of characters"),
    entry("concat", "STRING+ -> STRING | ARRAY<T>+ -> ARRAY<T>", "strings or arrays joined; NULL if one is NULL"),
    entry(
        "concat_ws",
        "STRING, STRING+ -> STRING | STRING, ARRAY<STRING>+ -> STRING",
        "the strings that are not NULL, joined with the first argument as separator",
    ),
    entry("contains", _TEST, "whether the second string occurs in the first"),
    entry("crc32", "STRING -> LONG", "the CRC-32 checksum"),
    entry("elt", "INT, STRING+ -> STRING", "the n-th string, counted from 1; NULL out of range"),
    entry("endswith", _TEST, "whether the first string ends with the second"),
    entry(
        "find_in_set",
        "STRING, STRING -> INT",
        "the position of a string in a comma-separated list, counted from 1; 0 if absent",
    ),
    entry("get_json_object", "STRING, STRING -> STRING", "the value at a path ('$.a.b') in a JSON string"),
    entry("hash", "X+ -> INT", "a 32-bit hash of the values (Murmur 3)"),
    entry("initcap", "STRING -> STRING", "the first letter of each word in upper case, the others in lower case"),
    entry(
        "instr", "STRING, STRING -> INT", "the position of the second string in the first, counted from 1; 0 if absent"
    ),
    entry("json_array_length", "STRING -> INT", "the number of elements of a JSON array"),
    entry("json_object_keys", "STRING -> ARRAY<STRING>", "the keys of a JSON object"),
    entry("left", "STRING, INT -> STRING", "the first n characters"),
    entry("levenshtein", "STRING, STRING -> INT", "the edit distance of two strings"),
    entry(
        "locate position",
        _PLACE,
        "the position of the first string in the second, from the third argument (default 1) on; 0 if absent",
    ),
    entry("lower lcase", "STRING -> STRING", "in lower case"),
    entry("lpad", _PADDED, "padded on the left, or cut, to n characters; NULL above a million"),
    entry("ltrim", "STRING -> STRING", "without leading blanks"),
    entry("luhn_check", "STRING -> BOOLEAN", "whether the digits pass the Luhn test"),
    entry("md5", "STRING -> STRING", "the MD5 digest in hexadecimal"),
    entry("octet_length", "STRING -> INT", "the length in bytes of UTF-8"),
    entry(
        "overlay",
        "STRING, STRING, INT, INT? -> STRING",
        "the first string with the second laid over it from a position on; the last argument: the length to replace",
    ),
    entry("parse_url", "STRING, STRING, STRING? -> STRING", "a part of a URL: 'HOST', 'PATH', or 'QUERY' with a key"),
    entry("regexp_count", "STRING, STRING -> INT", "the number of matches", arg1="regex"),
    entry("regexp_extract", _GROUP_OF, "group n (default 1) of the first match", arg1="regex", arg2="group"),
    entry("regexp_extract_all", _GROUPS_OF, "group n (default 1) of every match", arg1="regex", arg2="group"),
    entry(
        "regexp_instr",
        "STRING, STRING -> INT",
        "the position of the first match, counted from 1; 0 if absent",
        arg1="regex",
    ),
    entry("regexp_like rlike regexp", _TEST, "whether a part of the string matches", arg1="regex"),
    entry(
        "regexp_replace",
        _THREE,
        "the string with every match replaced; $1 is group 1",
        arg1="regex",
        arg2="replacement",
    ),
    entry("regexp_substr", "STRING, STRING -> STRING", "the first match; NULL if absent", arg1="regex"),
    entry("repeat", "STRING, INT -> STRING", "the string n times; NULL above a million"),
    entry("replace", "STRING, STRING, STRING? -> STRING", "every occurrence replaced (default: removed)"),
    entry("reverse", "STRING -> STRING | ARRAY<T> -> ARRAY<T>", "the characters or elements in reverse order"),
    entry("right", "STRING, INT -> STRING", "the last n characters"),
    entry("rpad", _PADDED, "padded on the right, or cut, to n characters; NULL above a million"),
    entry("rtrim", "STRING -> STRING", "without trailing blanks"),
    entry("sha1 sha", "STRING -> STRING", "the SHA-1 digest in hexadecimal"),
    entry("sha2", "STRING, INT -> STRING", "the SHA-2 digest of 224, 256, 384 or 512 bits in hexadecimal", arg1="bits"),
    entry("soundex", "STRING -> STRING", "the Soundex code"),
    entry("space", "INT -> STRING", "n blanks; NULL above a million"),
    entry("split", _GROUPS_OF, "the parts between matches, at most n", arg1="regex"),
    entry(
        "split_part",
        "STRING, STRING, INT -> STRING",
        "the n-th part between delimiters, counted from 1; NULL for n = 0",
    ),
    entry("startswith", _TEST, "whether the first string starts with the second"),
    entry("substring substr mid", _PART, "the part from a position on, counted from 1, at most n characters"),
    entry("substring_index", "STRING, STRING, INT -> STRING", "the part before the n-th delimiter"),
    entry("translate", _THREE, "characters of the second string replaced by those of the third"),
    entry("trim", "STRING -> STRING", "without leading and trailing blanks"),
    entry("unbase64", "STRING -> STRING", "the decoded base 64; NULL if it is not valid (Spark returns BINARY)"),
    entry(
        "unhex", "STRING -> STRING", "the decoded hexadecimal digits; NULL if they are not valid (Spark returns BINARY)"
    ),
    entry("upper ucase", "STRING -> STRING", "in upper case"),
    entry("url_decode", "STRING -> STRING", "the decoded URL part; NULL if it is not valid"),
    entry("url_encode", "STRING -> STRING", "encoded as part of a URL"),
    entry("xxhash64", "X+ -> LONG", "a 64-bit hash of the values (xxHash)"),
)
