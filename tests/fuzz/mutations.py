"""Changes of bytes that turn a good file into a hostile one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

TOKENS = [
    *b"0 1 -1 2147483647 99999999999 0:1 1:0.5 2:-3e5 1: :1 nan inf 1e999 , ; | { } [ ]".split(),
    *b"0,1 @data @attribute @relation real {0,1} ? % # \\ ' \" \"\" <labels> </labels>".split(),
    *b'<label name="l"/> <!DOCTYPE {"text": "labels": "a" null true \\ud800 \\u0000'.split(),
    *b"text,labels 1e-320 4.9e-324 1e38 1e39 -0 +1 1_000 0x1p3 123456789012345678901".split(),
    b"9" * 400, b" ", b"\n", b"\r", b"\r\n", b"\t", b"\x00", b"\xff", b"\x1f\x8b", b"\xef\xbb\xbf",
    b"\xff\xfe", b"\xc3\xa9", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80",
    *(
        letter.encode()
        for letter in ("\u0085", "\u2028", "\u200d", "\u202e", "e\u0301", "\ufeff", "\u0660",
                       "\u00a0", "\u3000", "𝟙", "１", "\U0010ffff", "\x1c", "\x0b", "ﬃ", "İ")
    ),
]  # fmt: skip

Change = Callable[[np.random.Generator, bytearray], None]


def _place(rng: np.random.Generator, content: bytearray) -> int:
    return int(rng.integers(len(content) + 1))


def _span(rng: np.random.Generator, content: bytearray) -> slice:
    first = _place(rng, content)
    return slice(first, first + int(rng.integers(1, 2 ** int(rng.integers(1, 9)))))


def flip_bit(rng: np.random.Generator, content: bytearray) -> None:
    if content:
        content[_place(rng, content) - 1] ^= 1 << int(rng.integers(8))


def set_byte(rng: np.random.Generator, content: bytearray) -> None:
    if content:
        content[_place(rng, content) - 1] = int(rng.choice([0, 255, 128, 127, 10, 34, 44, 58]))


def cut_off(rng: np.random.Generator, content: bytearray) -> None:
    del content[_place(rng, content) :]


def delete_span(rng: np.random.Generator, content: bytearray) -> None:
    del content[_span(rng, content)]


def repeat_span(rng: np.random.Generator, content: bytearray) -> None:
    at, span = _place(rng, content), bytes(content[_span(rng, content)])
    content[at:at] = span * int(rng.integers(1, 4))


def insert_token(rng: np.random.Generator, content: bytearray) -> None:
    at = _place(rng, content)
    content[at:at] = TOKENS[int(rng.integers(len(TOKENS)))]


def replace_by_token(rng: np.random.Generator, content: bytearray) -> None:
    content[_span(rng, content)] = TOKENS[int(rng.integers(len(TOKENS)))]


def swap_spans(rng: np.random.Generator, content: bytearray) -> None:
    one, other = _span(rng, content), _span(rng, content)
    content[one], content[other] = bytes(content[other]), bytes(content[one])


def insert_many(rng: np.random.Generator, content: bytearray) -> None:
    """A very long line, very many labels, lines or quotes."""
    pieces = (b"a", b"a;", b";", b",", b"\n", b'"', b"[", b"0:1 ", b"1,", b" ", b'"a",', b"{", b"9")
    size = 2 ** int(rng.integers(8, 21))
    piece = pieces[int(rng.integers(len(pieces)))]
    at = _place(rng, content)
    content[at:at] = piece * (size // len(piece))


def number_many_labels(rng: np.random.Generator, content: bytearray) -> None:
    """Very many different names or ids."""
    between = (b",", b";", b" ", b'","', b":1 ")[int(rng.integers(5))]
    at = _place(rng, content)
    content[at:at] = between.join(b"%d" % n for n in range(2 ** int(rng.integers(4, 16))))


CHANGES: tuple[Change, ...] = (
    flip_bit, flip_bit, set_byte, cut_off, delete_span, delete_span, repeat_span, repeat_span,
    insert_token, insert_token, insert_token, replace_by_token, replace_by_token, swap_spans,
)  # fmt: skip
LARGE_CHANGES: tuple[Change, ...] = (insert_many, number_many_labels)
LARGE_SHARE = 0.03


def mutated(rng: np.random.Generator, good: bytes, *, large: bool = True) -> bytes:
    """A file after one to six changes, of which few are large; one in twenty is left as it is."""
    content = bytearray(good)
    if rng.random() < 0.05:
        return good
    for _ in range(int(rng.integers(1, 7))):
        changes = LARGE_CHANGES if large and rng.random() < LARGE_SHARE else CHANGES
        changes[int(rng.integers(len(changes)))](rng, content)
    return bytes(content)
