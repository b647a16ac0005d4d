"""Learns from a request for a record that doesn't exist how an API says no: the status, and where the code stands."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

from portal.connect.conform.learned import Learned
from portal.connect.conform.walk import Visit, call, json_of, rules_of
from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.naming import words
from portal.services.client import Care
from portal.services.consents import LIST_CONSENTS, READ_CONSENT


def ask_refusal(care: Care, learned: Learned) -> None:
    """Request a record that doesn't exist, and learn the status and form of the error."""
    refused = call(care, READ_CONSENT, ids={"id": str(uuid.uuid4())})
    learned.calls += 1
    rules = rules_of(care)
    if refused.status in (410, 422) and refused.status not in rules.errors.statuses:
        learned.statuses[refused.status] = 404
    has_told = refused.status and (refused.status >= 400 or learned.success)
    answer = json_of(refused.body) if has_told else None
    if rules.errors.code is None and isinstance(answer, dict):
        paths = list(_leaves(cast("dict[str, object]", answer), ()))
        if not any(".".join(path) in _UNDERSTOOD for path, _value in paths):
            learned.code_at = [".".join(path) for path, value in paths if _is_code(path, value)]


def ask_success(care: Care, visits: Iterable[Visit], learned: Learned) -> None:
    """Learn what tells a refusal that is sent with a successful status: what differs from the answer of a record that exists."""
    known = next((visit.id for visit in visits if visit.endpoint is READ_CONSENT and visit.is_good), None)
    if known is None or rules_of(care).errors.success is not None:
        return
    refused, good = (
        call(care, READ_CONSENT, into=object, ids={"id": id_}) for id_ in (_nobodys(known), known)
    )
    learned.calls += 2
    told, usual = json_of(refused.body), json_of(good.body)
    if refused.is_good and isinstance(told, dict) and isinstance(usual, dict):
        says_no = dict(_leaves(cast("dict[str, object]", told), ()))
        says_yes = dict(_leaves(cast("dict[str, object]", usual), ()))
        if 2 * len(says_no) > len(says_yes):
            return  # a record all the same
        for path, value in says_yes.items():
            is_flag = isinstance(value, bool | int) or (isinstance(value, str) and len(value) < 20)
            if is_flag and path in says_no and says_no[path] != value:
                where = json.dumps(".".join(path))
                learned.success = (
                    where if value is True else f"{{ path = {where}, value = {json.dumps(value)} }}"
                )
                return
        learned.success = learned.success or "…"


def _nobodys(id_: str) -> str:
    """An id that no record has, of the kind that this one is."""
    return "9" * max(9, len(id_)) if id_.isdecimal() else str(uuid.uuid4())


def ask_nowhere(care: Care, learned: Learned) -> str | None:
    """Ask for a list at an address that doesn't exist: what is wrong if that is read as an empty list; None if it isn't."""
    rules = rules_of(care)
    if not rules.empty_lists:
        return None
    nowhere = {"GET " + LIST_CONSENTS.template: "/no-such-address-" + uuid.uuid4().hex}
    learned.calls += 1
    adapter = Dialect(replace(rules, addresses={**rules.addresses, **nowhere}))
    is_taken = call(replace(care, adapter=adapter), LIST_CONSENTS).is_good
    return "an address that doesn't exist is read as an empty list" if is_taken else None


_UNDERSTOOD = ("error.code", "code", "error")


def _leaves(value: Mapping[str, object], path: tuple[str, ...]) -> Iterable[tuple[tuple[str, ...], object]]:
    for name, inner in value.items():
        if isinstance(inner, list):
            first = dict(zip("0", cast("list[object]", inner), strict=False))
            yield from _leaves(first, (*path, name))
        elif isinstance(inner, dict):
            yield from _leaves(cast("dict[str, object]", inner), (*path, name))
        else:
            yield (*path, name), inner


def _is_code(path: tuple[str, ...], value: object) -> bool:
    """Whether this may be an error code: by the member's name, and because the value isn't a sentence."""
    is_short = isinstance(value, str | int) and not isinstance(value, bool) and " " not in str(value)
    named = {word for name in path for word in words(name)}
    return is_short and bool(named & {"code", "number", "reason", "rule", "key"})
