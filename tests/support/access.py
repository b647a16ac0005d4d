"""Who may open and change what: the table of the application's `@signed_in` marks.

`make evidence` writes tests/ACCESS.md from it (OWASP ASVS 5.0 8.1.1); SECURITY.md, Access, has the rules in words.
"""

from __future__ import annotations

import re
from collections import defaultdict

from flask import Flask

from portal.config.tenants import Side
from portal.web.guard import PUBLIC, access_of
from tests.support.evidence import TESTS

TABLE = TESTS / "ACCESS.md"
_HEAD = """# Who may open and change what

Written by `make evidence` from the marks on the handlers (`@signed_in` in portal/views); a test fails when it is out of
date, another asks for each address as people of each kind who may not. This is the portal's own rule, the first of two:
which records and fields are theirs is decided by the care API ([SECURITY.md](../SECURITY.md), Access). Staff without
roles behind them are staff of any role. A dash means that there is nothing to open or change.

| Address | Opened by | Changed by |
| --- | --- | --- |
"""


def table(app: Flask) -> str:
    """Return the document."""
    who: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for rule in app.url_map.iter_rules():
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            who[_written(rule.rule)][method] = _who(app, rule.endpoint)
    assert {method for methods in who.values() for method in methods} <= {"GET", "POST"}
    rows = [
        f"| `{route}` | {methods.get('GET', '–')} | {methods.get('POST', '–')} |"
        for route, methods in sorted(who.items())
    ]
    return _HEAD + "\n".join(rows) + "\n"


def _who(app: Flask, endpoint: str) -> str:
    if endpoint in PUBLIC:
        return "anyone"
    access = access_of(app.view_functions[endpoint])
    assert access is not None, endpoint
    names = {Side.PATIENT: "patients", Side.STAFF: "staff"}
    sides = [name for side, name in names.items() if side in access.sides]
    roles = f" ({', '.join(sorted(access.roles))})" if access.roles else ""
    return " and ".join(sides) + roles


def _written(rule: str) -> str:
    """A route as it is read: `/consents/{consent_id}`."""
    return re.sub(r"<(?:[^:>]+:)?(\w+)>", r"{\1}", rule)
