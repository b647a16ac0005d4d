"""How many care API calls each page makes: no more than needed, and reading never changes anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from werkzeug.routing import Rule

from portal import metrics
from portal.careservice.ids import sample_id
from portal.http import transport
from portal.store import names
from portal.web.guard import PUBLIC, access_of
from tests.support.stack import PortalThread
from tests.support.visitor import SignIn

AMELIA = sample_id("patient", "amelia")
AMELIAS = sample_id("episode", "amelia-1")
GRACES = sample_id("episode", "grace-2")
TOMASZ = sample_id("prospect", "tomasz")
INES, AGAIN = sample_id("prospect", "ines"), sample_id("prospect", "ines-again")
EMBRYO = f"/storage/{sample_id('embryo', 'GO-3')}"
RESULT = f"/pgt-results/{sample_id('pgt-result', 'GO-1')}"
SCAN = sample_id("conversation", "amelia-scan")
FORM = f"/consents/{sample_id('consent', 'amelia-genetic')}"
SIGNED = f"/consents/{sample_id('consent', 'amelia-treatment-1')}"
REVOCABLE = f"/consents/{sample_id('consent', 'amelia-treatment-2')}"
PROTOCOL = f"/protocols/{sample_id('protocol', 'amelia')}"

EPISODE = f"/episodes/{AMELIAS}"
EMR = f"/emr-endpoints/{sample_id('emr-endpoint', 'riverside-main')}"

# Who opens which address, and how many calls it may make. Home and lists of episodes make one call per
# episode, because no endpoint lists episodes; everyone has opened home before, so the ids are known.
BUDGET: list[tuple[str, str, int]] = [
    ("amelia", "/", 5),
    ("grace", "/", 6),
    ("nora", "/", 7),
    ("amelia", "/notifications", 3),
    ("nora", "/notifications?unread=1", 3),
    ("amelia", "/notifications/bell", 1),
    ("nora", "/notifications/bell", 1),
    ("amelia", "/notifications/settings", 1),
    ("nora", "/notifications/settings", 1),
    ("amelia", "/consents", 1),
    ("nora", "/consents", 3),
    ("nora", "/consents?list=friday&waits=patients", 6),
    ("nora", "/consents?q=genetic", 1),
    ("nora", f"/consents?list=all&patient={AMELIA}", 2),
    ("amelia", FORM, 1),
    ("nora", FORM, 2),
    ("amelia", f"{SIGNED}/receipt.pdf", 1),
    ("amelia", f"{SIGNED}/receipt?verify=1", 2),
    ("amelia", f"{FORM}/sign", 1),
    ("amelia", f"{FORM}/sign/read", 1),
    ("amelia", f"{REVOCABLE}/revoke", 1),
    ("nora", "/consents/new", 1),
    ("nora", f"/consents/new?episode={AMELIAS}", 3),
    ("nora", f"/consents/new?template=treatment&episode={AMELIAS}", 2),
    ("nora", "/consents/new/bundle?operation=none", 0),
    ("nora", "/consents/new/fill", 0),
    ("nora", "/consents/new/preview", 0),
    ("nora", "/consents/new/look", 1),
    ("amelia", "/conversations", 1),
    ("nora", "/conversations?archived=1", 1),
    ("nora", f"/conversations?patient={AMELIA}", 2),
    ("amelia", f"/conversations/{SCAN}", 1),
    ("nora", f"/conversations/{SCAN}", 2),
    ("amelia", f"/conversations/{SCAN}/new?known=x", 1),
    ("daniel", "/conversations/new", 1),
    ("amelia", f"/conversations/{SCAN}/archive", 1),
    ("amelia", "/episodes", 2),
    ("grace", "/episodes", 2),
    ("nora", "/episodes", 4),
    ("amelia", EPISODE, 2),
    ("nora", EPISODE, 2),
    *(
        case
        for tab in ("timeline", "monitoring", "medication", "embryos", "appointments", "documents", "team")
        for case in (
            ("amelia", f"{EPISODE}/{tab}", 2 if tab in ("monitoring", "medication") else 1),
            ("nora", f"{EPISODE}/{tab}", 2 if tab == "medication" else 1),
        )
    ),
    ("amelia", f"{EPISODE}/doses?known=x", 1),
    ("amelia", f"{EPISODE}/doses?known=x&told=", 2),
    ("amelia", f"{EPISODE}/consents", 2),
    ("amelia", f"{EPISODE}/appointments.ics", 1),
    ("amelia", f"{EPISODE}/appointments/{sample_id('appointment', 'amelia-scan-5')}.ics", 1),
    ("amelia", f"/files/{sample_id('file', 'amelia-plan')}", 1),
    ("amelia", f"/files/{sample_id('file', 'amelia-plan')}/preview", 1),
    ("grace", RESULT, 3),
    ("elif", RESULT, 2),
    ("grace", "/storage", 2),
    ("elif", "/storage", 6),
    ("elif", "/storage/read-on", 6),
    ("grace", f"{EMBRYO}?episode={GRACES}", 1),
    ("grace", EMBRYO, 2),
    ("elif", f"{EMBRYO}?episode={GRACES}", 2),
    ("elif", f"{EMBRYO}/second-person?episode={GRACES}", 1),
    ("grace", f"{EMBRYO}/keep?episode={GRACES}", 1),
    ("grace", f"{EMBRYO}/end-storage?episode={GRACES}", 2),
    ("amelia", "/questions", 0),
    ("amelia", "/papers", 4),
    ("grace", "/papers", 5),
    ("amelia", "/help", 0),
    ("amelia", "/help/words", 0),
    ("amelia", "/session/stay", 0),
    ("nora", "/session/stay", 0),
    ("amelia", "/me", 1),
    ("nora", "/me", 0),
    ("amelia", "/me/devices", 0),
    ("amelia", "/me/devices/none/sign-out", 0),
    ("amelia", "/me/devices/sign-out", 0),
    ("amelia", "/me/passkeys", 0),
    ("amelia", "/me/passkeys/none/remove", 0),
    ("amelia", "/care-team", 2),
    ("nora", "/care-team", 1),
    ("nora", "/open", 0),
    ("nora", "/day-sheet", 9),
    ("nora", "/find", 0),
    ("nora", "/find/results", 8),
    ("victor", "/protocols", 1),
    ("nora", f"/protocols?patient={AMELIA}", 2),
    ("amelia", PROTOCOL, 2),
    ("victor", PROTOCOL, 3),
    ("amelia", f"{PROTOCOL}/change", 2),
    ("amelia", f"{PROTOCOL}/schedule.pdf", 2),
    ("victor", f"{PROTOCOL}/schedule.pdf", 3),
    ("amelia", f"{PROTOCOL}/schedule.ics", 2),
    ("victor", f"{PROTOCOL}/end?to=Completed", 2),
    ("victor", f"{PROTOCOL}/edit", 2),
    ("victor", "/protocols/new", 1),
    ("victor", f"/protocols/new?copy={PROTOCOL[11:]}", 2),
    ("victor", f"/protocols/new?episode={AMELIAS}", 2),
    ("victor", "/protocols/new/back", 0),
    ("victor", "/protocols/new/preview", 0),
    ("victor", "/protocols/new/look", 1),
    ("nora", "/patients", 3),
    ("nora", f"/patients/{AMELIA}?episode={AMELIAS}", 6),
    ("nora", f"/patients/{sample_id('patient', 'grace')}", 7),
    ("nora", f"/patients/{AMELIA}/as-seen", 5),
    ("nora", f"/patients/{AMELIA}/edit?episode={AMELIAS}", 1),
    ("victor", f"/cases/{sample_id('case', 'amelia')}/edit?episode={AMELIAS}", 2),
    ("amelia", f"/relationships/{sample_id('relationship', 'amelia-contact')}/remove?episode={AMELIAS}", 1),
    ("nora", f"/directories?episode={AMELIAS}", 1),
    ("nora", f"/directories/{sample_id('directory', 'amelia-letters')}/move?episode={AMELIAS}", 1),
    ("colin", "/prospects", 3),
    ("colin", f"/prospects/{TOMASZ}/book", 3),
    ("colin", f"/prospects/{TOMASZ}/book/receipt", 0),
    ("colin", f"/prospects/{TOMASZ}/book/appointment.ics", 0),
    ("colin", f"/prospects/{TOMASZ}/book-link", 0),
    ("colin", f"/prospects/{INES}/merge?merge={AGAIN}", 2),
    ("colin", f"/prospects/{INES}/merge/confirm", 0),
    ("colin", f"/prospects/{INES}/merge/receipt", 0),
    ("ada", "/clinic-system", 0),
    ("ada", f"{EMR}/remove", 1),
]
SAME_LIST_TWICE = (
    "/",
    "/consents",
    "/consents/new",
    "/day-sheet",
    "/patients/<record:patient_id>",
    "/patients/<record:patient_id>/as-seen",
    "/prospects",
)
"""Routes that ask one list for two things: forms of two statuses, or to copy and of a patient, conversations by two names,
notifications that are unread and the newest."""

MOST_OF_THE_STORE = {
    **dict.fromkeys(
        (
            "/consents/<record:consent_id>/receipt",
            "/consents/<record:consent_id>/revoke",
            "/consents/<record:consent_id>/sign",
            "/consents/<record:consent_id>/sign/<any(read, statements, name):step>",
            "/consents/new",
            *(f"/{kind}/new/{step}" for kind in ("consents", "protocols") for step in ("preview", "look")),
            *("/consents/new/bundle", "/consents/new/fill", "/protocols/new/back"),
            "/emr-endpoints/<record:endpoint_id>/remove",
            "/episodes/<record:episode_id>/appointments.ics",
            "/episodes/<record:episode_id>/appointments/<record:appointment_id>.ics",
            *("/me/devices", "/me/devices/sign-out", "/me/passkeys/<handle>/remove"),
            *(f"/prospects/<record:prospect_id>/{act}" for act in ("book", "merge")),
            "/protocols/<record:protocol_id>/schedule.ics",
            "/relationships/<record:relationship_id>/remove",
        ),
        5,
    ),
    "/consents/<record:consent_id>/receipt.pdf": 7,
    "/me/devices/<handle>/sign-out": 5,
    "/me/passkeys": 5,
    "/protocols/<record:protocol_id>/schedule.pdf": 5,
    "/protocols/new": 6,
    "/storage/read-on": 4,
}
"""How often a page may ask the store that begins or goes on with an act, or makes a file; all others twice."""


@contextmanager
def calls() -> Iterator[list[str]]:
    """The calls of the care API made meanwhile, as method and path."""
    made: list[str] = []

    def spied(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(asked: transport.Call, *args: Any, **more: Any) -> Any:
            path = urlsplit(asked.url).path
            if path.startswith("/api/"):
                made.append(f"{asked.method} {path}")
            return original(asked, *args, **more)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "send", spied(transport.send))
        patch.setattr(transport, "stream", spied(transport.stream))
        yield made


@pytest.mark.parametrize(("name", "path", "budget"), BUDGET, ids=[f"{c[0]} {c[1]}" for c in BUDGET])
@pytest.mark.asvs("3.5.3")
def test_a_page_keeps_to_its_budgets(
    person: SignIn, portal: PortalThread, name: str, path: str, budget: int
) -> None:
    """It asks the API so often, and the store twice: for the session with what is known of the person, and for one thing more;
    a page that begins or goes on with an act, for that too.
    """
    visitor = person(name)
    with calls() as made, asked_of_the_store() as asked:
        answer = visitor.request("GET", path, status=None, follow=False)
    assert answer.status in (200, 204, 303), f"{path}: {answer.status} {answer.words[:200]}"
    route = route_of(portal, path)
    assert len(made) <= budget, f"{path} costs {len(made)} calls, not {budget}: {made}"
    assert len(set(made)) == len(made) or route in SAME_LIST_TWICE, (
        f"{path} makes the same call twice: {made}"
    )
    assert all(call.startswith("GET ") for call in made), f"reading {path} changes something: {made}"

    most = MOST_OF_THE_STORE.get(route, 2)
    for _ in range(8):  # what is done every few seconds isn't what a page costs
        if len(asked) <= most:
            break
        with asked_of_the_store() as asked:
            visitor.request("GET", path, status=None, follow=False)
    assert len(asked) <= most, f"{path} asks the store {asked}"


@contextmanager
def asked_of_the_store() -> Iterator[list[str]]:
    """What the store is asked meanwhile."""
    operations: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "store", lambda operation, *_: operations.append(operation))
        patch.setattr(names, "_MOMENT", 600.0)  # on a slow machine too
        yield operations


def test_the_bell_asks_the_api_once_in_15_seconds_for_all_tabs(person: SignIn, portal: PortalThread) -> None:
    daniel, again = person("daniel"), portal.sign_in("daniel")
    portal.clock.advance(15)
    with calls() as made:
        for tab in (daniel, again, daniel, again):
            tab.get("/notifications/bell", status=None)
    assert made == ["GET /api/app/notification"]
    portal.clock.advance(15)
    with calls() as later:
        daniel.get("/notifications/bell", status=None)
    assert len(later) == 1


@pytest.mark.parametrize(
    ("region", "budget"), [("consents", 1), ("messages", 1), ("treatment", 2), ("news", 1)]
)
def test_a_region_of_home_makes_only_its_own_calls(person: SignIn, region: str, budget: int) -> None:
    with calls() as made:
        person("amelia").fragment("/", region)
    assert len(made) <= budget, made


def test_the_first_page_of_a_session_also_searches_old_notifications_and_reads_what_it_found(
    portal: PortalThread,
) -> None:
    visitor = portal.visitor()
    with calls() as made:
        visitor.sign_in("amelia")
    assert len(made) == 6, made


def route_of(portal: PortalThread, path: str) -> str:
    address = portal.app.url_map.bind("localhost")
    rule, _ = address.match(urlsplit(path).path, method="GET", return_rule=True)
    assert isinstance(rule, Rule)
    return rule.rule


def test_every_page_for_signed_in_people_has_a_budget(portal: PortalThread) -> None:
    routes = {
        rule.rule
        for rule in portal.app.url_map.iter_rules()
        if "GET" in (rule.methods or ())
        and rule.endpoint not in PUBLIC
        and access_of(portal.app.view_functions[rule.endpoint]) is not None
    }
    without = routes - {route_of(portal, path) for _name, path, _calls in BUDGET}
    assert not without, f"give these a budget in BUDGET: {sorted(without)}"
