"""Whether an e-mail comes from its stated sender, by the SPF, DKIM and DMARC results of the clinic's mail server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_RESULT = re.compile(
    r"\s*(?P<method>dmarc|dkim|spf)(?:\s*/\s*\d+)?\s*=\s*(?P<result>[a-z]+)(?P<properties>.*)",
    re.IGNORECASE | re.DOTALL,
)
_PROPERTY = re.compile(
    r"(?<!\S)(?:header\.d|header\.i|smtp\.mailfrom|header\.from)\s*=\s*(?:\S*@)?(?P<domain>[\w.-]+)",
    re.IGNORECASE,
)
_LEXEMES = re.compile(r'\\.|["();]|[^\\"();]+|\\', re.DOTALL)
_NOT_IN_A_DOMAIN = re.compile(r"[^\w.@-]")
_DOMAIN = re.compile(r"@?([\w.-]+)")
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)


@dataclass(frozen=True)
class Result:
    """The result of one method and the domain that it is about."""

    method: str
    passed: bool
    domain: str


def is_verified(sender: str, results: Iterable[Result]) -> bool:
    """Whether the mail comes from the address `sender`: by DMARC if there is a result, else by an aligned DKIM or SPF.

    Aligned (RFC 7489 §3.1): the domain of the signature or envelope is the sender's, a subdomain or a parent of it.
    """
    domain = sender.rpartition("@")[2].lower()
    found = [result for result in results if result.method == "dmarc" or _is_aligned(result.domain, domain)]
    policies = [one.passed for one in found if one.method == "dmarc" and one.domain in ("", domain)]
    return all(policies) if policies else any(one.passed for one in found if one.method != "dmarc")


def of_parse_service(form: Mapping[str, str], envelope_sender: str) -> list[Result]:
    """The results that inbound-parse services put in the fields `SPF` (a word) and `dkim` (`{@domain : word, …}`)."""
    spf = form.get("SPF", form.get("spf", "")).strip().lower()
    found = [Result("spf", spf == "pass", envelope_sender.rpartition("@")[2].lower())] if spf else []
    for part in form.get("dkim", "").strip(" {}").split(","):
        named, _, result = part.strip(" {}").partition(":")
        domain, word = _DOMAIN.fullmatch(named.strip()), _WORD.match(result.strip())
        if domain and word:
            found.append(Result("dkim", word[0].lower() == "pass", domain[1].lower()))
    return found


def of_headers(values: Iterable[str], receiver: str) -> list[Result]:
    """The results in Authentication-Results (RFC 8601) that `receiver`, the clinic's own mail server, wrote."""
    found: list[Result] = []
    for value in values:
        name, *parts = _parts(value)
        if name.split()[:1] != [receiver]:
            continue
        for one in filter(None, map(_RESULT.match, parts)):
            method, result, about = (
                one["method"].lower(),
                one["result"].lower(),
                _PROPERTY.search(one["properties"]),
            )
            if (method, result) != ("dmarc", "none"):  # the domain has no policy, which says nothing
                found.append(Result(method, result == "pass", about["domain"].lower() if about else ""))
    return found


def _parts(value: str) -> list[str]:
    """The parts of a header between semicolons, without comments (RFC 8601 §2.2).

    What is quoted may be the sender's own words, such as the local part of an address: only what a domain may hold is
    left of it.
    """
    parts: list[list[str]] = [[]]
    depth, is_quoted = 0, False
    for lexeme in _LEXEMES.findall(value):
        if lexeme == '"' and not depth:
            is_quoted = not is_quoted
        elif is_quoted:
            parts[-1].append(_NOT_IN_A_DOMAIN.sub("", lexeme))
        elif lexeme in "()":
            depth = max(0, depth + (1 if lexeme == "(" else -1))
        elif lexeme == ";" and not depth:
            parts.append([])
        elif not depth:
            parts[-1].append(lexeme)
    return ["".join(part) for part in parts]


def _is_aligned(domain: str, with_domain: str) -> bool:
    shorter, longer = sorted((domain, with_domain), key=len)
    return "." in shorter and (longer == shorter or longer.endswith(f".{shorter}"))
