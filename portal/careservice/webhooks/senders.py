"""Whether an e-mail comes from its stated sender, by the SPF, DKIM and DMARC results of the clinic's mail server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_RESULT = re.compile(
    r"\b(?P<method>dmarc|dkim|spf)\s*=\s*(?P<result>[a-z]+)(?P<properties>[^;]*)", re.IGNORECASE
)
_PROPERTY = re.compile(
    r"\b(?:header\.d|header\.i|smtp\.mailfrom|header\.from)\s*=\s*\"?(?:[^\s;@\"]*@)?(?P<domain>[\w.-]+)",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"\([^()]*\)")
_SIGNED = re.compile(r"@?(?P<domain>[\w.-]+)\s*:\s*(?P<result>[a-z]+)", re.IGNORECASE)


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
    found = [one for one in results if one.method == "dmarc" or _is_aligned(one.domain, domain)]
    policies = [one.passed for one in found if one.method == "dmarc" and one.domain in ("", domain)]
    return all(policies) if policies else any(one.passed for one in found if one.method != "dmarc")


def of_parse_service(form: Mapping[str, str], envelope_sender: str) -> list[Result]:
    """The results that inbound-parse services put in the fields `SPF` (a word) and `dkim` (`{@domain : word, …}`)."""
    spf = form.get("SPF", form.get("spf", "")).strip().lower()
    found = [Result("spf", spf == "pass", envelope_sender.rpartition("@")[2].lower())] if spf else []
    return found + [
        Result("dkim", one["result"].lower() == "pass", one["domain"].lower())
        for one in _SIGNED.finditer(form.get("dkim", ""))
    ]


def of_headers(values: Iterable[str], receiver: str) -> list[Result]:
    """The results in Authentication-Results (RFC 8601) that `receiver`, the clinic's own mail server, wrote."""
    found: list[Result] = []
    for value in values:
        name, _, results = _COMMENT.sub("", value).partition(";")
        if not receiver or name.split()[:1] != [receiver]:
            continue
        for one in _RESULT.finditer(results):
            about = _PROPERTY.search(one["properties"])
            found.append(
                Result(
                    one["method"].lower(),
                    one["result"].lower() == "pass",
                    about["domain"].lower() if about else "",
                )
            )
    return found


def _is_aligned(domain: str, with_domain: str) -> bool:
    shorter, longer = sorted((domain, with_domain), key=len)
    return "." in shorter and (longer == shorter or longer.endswith(f".{shorter}"))
