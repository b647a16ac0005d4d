"""What is read of the From and To headers of outside mail (RFC 5322 §3.4)."""

from __future__ import annotations

import pytest

from portal.careservice.webhooks.mail_addresses import addresses_of, is_address

A = ("", "a@one.example")


@pytest.mark.parametrize(
    ("header", "read"),
    [
        ("", []),
        (" , ;", []),
        ("a@one.example", [A]),
        ("Ann Bell <a@one.example>", [("Ann Bell", "a@one.example")]),
        ('"Bell, Ann" <a@one.example>', [("Bell, Ann", "a@one.example")]),
        (r'"Ann \"A\" Bell" <a@one.example>', [('Ann "A" Bell', "a@one.example")]),
        ("  Ann \t Bell  <  a@one.example  >", [("Ann Bell", "a@one.example")]),
        ("a@one.example, Bo <b@two.example>", [A, ("Bo", "b@two.example")]),
        ("friends: a@one.example, b@two.example;", [A, ("", "b@two.example")]),
        ("a@one.example (Ann (at work), today)", [A]),
        ("Ann (home) Bell <a@one.example>", [("Ann Bell", "a@one.example")]),
        ("no address", [("", "")]),
        ("Ann <no address>", [("Ann", "")]),
        ("Ann <a@one.example> <b@two.example>", [("Ann", "")]),
        ("Ann <a@one.example> Bell", [("Ann Bell", "")]),
        ("Ann <a@one.example", [("Ann", "")]),
        ('"Ann <a@one.example>', [("Ann <a@one.example>", "")]),
        ("a@one.example (never closed", [("a@one.example", "")]),
    ],
)
def test_names_and_addresses_are_read(header: str, read: list[tuple[str, str]]) -> None:
    assert addresses_of(header) == read


@pytest.mark.parametrize("sent", [49, 50, 51, 200])
def test_no_more_than_fifty_are_read(sent: int) -> None:
    header = ", ".join(f"p{number}@one.example" for number in range(sent))
    assert [address for _, address in addresses_of(header)] == [
        f"p{number}@one.example" for number in range(min(sent, 50))
    ]


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("a@b", True),
        (f"{'a' * 64}@{'b' * 190}", True),
        (f"{'a' * 65}@b", False),
        (f"a@{'b' * 191}", False),
        ("@b", False),
        ("a@", False),
        ("a@b@c", False),
        ("a b@c", False),
        ("a@b\n", False),
        ("<a@b>", False),
    ],
)
def test_an_address_has_two_parts_of_limited_length(text: str, known: bool) -> None:
    assert is_address(text) is known
