"""Finds an API's own addresses, where it doesn't know the specification's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from portal.connect.conform.learned import Learned
from portal.connect.conform.walk import LISTS, call, rules_of
from portal.connect.dialects.dialect import Dialect
from portal.services.client import Care


def find_addresses(care: Care, bases: Sequence[str]) -> tuple[Care, Learned]:
    """If the API answers the specification's addresses with 404, find its own by trying the paths in `bases`.

    A base may precede an address, or replace its first two segments ("/api/care"). Returns a client that uses them.
    """
    learned, found = Learned(), dict[str, str]()
    if not bases:
        return care, learned
    for endpoint in LISTS:
        prefix = "/".join(endpoint.template.split("/")[:3])
        if prefix in found or call(care, endpoint).status != 404:
            continue
        tried = [(base, instead) for base in bases for instead in (base + prefix, base)]
        for base, instead in tried:
            if call(_there(care, "", {prefix: instead}), endpoint).is_good:
                found[prefix] = instead
                if instead == base + prefix:
                    learned.base_path = learned.base_path or base
                break
    if not found:
        return care, learned
    base = learned.base_path
    if not all(instead.startswith(f"{base}/") for instead in found.values()):
        base = learned.base_path = ""
    learned.addresses = {
        prefix: instead.removeprefix(base) for prefix, instead in found.items() if instead != base + prefix
    }
    return _there(care, base, learned.addresses), learned


def _there(care: Care, base_path: str, addresses: Mapping[str, str]) -> Care:
    rules = rules_of(care)
    told = replace(rules, base_path=base_path or rules.base_path, addresses={**rules.addresses, **addresses})
    return replace(care, adapter=Dialect(told))
