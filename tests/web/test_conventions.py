"""Conventions of the portal's code, checked against its syntax trees."""

from __future__ import annotations

import ast
from functools import cache

from portal import metrics
from tests.support.act_calls import acts, settlings, unguarded
from tools.definitions import ROOT, sources, tree

PLAIN = {
    "notifications.set_all_read": "a mark of the reader's own: setting it again does no harm, and each try tells the count",
    "notifications.set_read": "as above",
}
"""What changes something and need not happen once, with the reason."""


SETTLES = {
    "portal.web.act_once": "the one way to change something at the API",
    "portal.views.passkeys": "a challenge counts once; nothing is sent to the API",
}
"""The modules that claim operations, with the reason."""


def test_every_change_goes_through_act_once() -> None:
    past = [f"{act} ({place})" for act, place in unguarded() if act not in PLAIN]
    assert not past, (
        "hand the call to portal.web.act_once.act_once as `send`, or to portal.web.editing.Editing as `write`: "
        + "; ".join(past)
    )


def test_only_act_once_settles_operations() -> None:
    others = [str(place) for place in settlings() if place.module not in SETTLES]
    assert not others, "let act_once claim and settle the operation, and catch what it raises: " + "; ".join(
        others
    )


def test_every_exception_from_act_once_is_still_needed() -> None:
    past = {act for act, _place in unguarded()}
    assert past == PLAIN.keys(), "take out of PLAIN what goes through act_once now"


def test_every_act_of_the_specification_is_known() -> None:
    assert all(acts().values()), "each endpoint that changes something has a function in portal.services"


READERS = {"fromisoformat", "strptime", "parsedate_to_datetime", "parsedate", "Decimal", "UUID"}
"""What reads a text of any length and raises at most."""


def test_external_text_is_parsed_only_by_the_bounded_parser() -> None:
    bounded = (
        "careservice/",
        "demo/",
        "parse.py",
        "services/decoding.py",
    )  # the first two are separate programs
    others = [
        f"{path}, line {call.lineno}"
        for path, call in _calls()
        if not path.startswith(bounded) and ast.unparse(call.func).rpartition(".")[2] in READERS
    ]
    assert not others, "let portal.parse read it: " + "; ".join(others)


OVERFLOW = {"astimezone"}
"""What raises within hours of the calendar's ends, which other systems send for "never"."""


def test_zone_conversions_go_through_portal_dates() -> None:
    others = [
        f"{path}, line {call.lineno}"
        for path, call in _calls()
        if not path.startswith(("careservice/", "demo/", "dates.py"))
        and ast.unparse(call.func).rpartition(".")[2] in OVERFLOW
    ]
    assert not others, "let portal.dates do it: " + "; ".join(others)


ANOTHERS = {
    ("creator_id", "person_id"): "whoever's settings they are made them",
    ("typed", "name"): "in the sample everybody signs with the name on the form",
    ("group", "user"): "a group of the user's name",
    ("api_hash", "content_hash"): "beside the hash that the portal computes",
}
"""Arguments that take the value named like another argument of the same call, with the reason."""


def test_no_argument_takes_the_value_of_another() -> None:
    """`Booking(start=visit.start, end=visit.start)`: what is said of one thing under the name of another."""
    swapped = [
        f"{path}, line {node.value.lineno}: {node.arg}={ast.unparse(node.value)}"
        for path, call in _calls()
        for node in call.keywords
        if isinstance(node.value, ast.Attribute)
        and node.arg
        and node.value.attr in {other.arg for other in call.keywords} - {node.arg}
        and not node.arg.endswith(f"_{node.value.attr}")
        and (node.arg, node.value.attr) not in ANOTHERS
    ]
    assert not swapped, "; ".join(swapped)


ABOUT_NO_RECORD = {"notification.read-all": "all of the reader's own"}
"""Events of a kind of record that are about none, with the reason."""


def test_each_audited_event_of_a_record_names_it() -> None:
    nameless = [
        f"{path}, line {call.lineno}: {call.args[0].value}"
        for path, call in _calls()
        if ast.unparse(call.func) in ("audit.note", "note")
        and isinstance(call.args[0], ast.Constant)
        and str(call.args[0].value).partition(".")[0] in metrics.RECORDS
        and "." in str(call.args[0].value)
        and "id_" not in {one.arg for one in call.keywords}
        and call.args[0].value not in ABOUT_NO_RECORD
    ]
    assert not nameless, "say which record by `id_`: " + "; ".join(nameless)


@cache
def _calls() -> list[tuple[str, ast.Call]]:
    """Every call in the portal's code, with its file."""
    root = ROOT / "portal"
    return [
        (path.relative_to(root).as_posix(), node)
        for path in sources("portal")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
    ]
