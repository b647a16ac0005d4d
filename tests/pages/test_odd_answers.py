"""Every page with members of the API's answers missing or odd: never a server error, never technical text.

Each page is read again and again while one member of what the care API answers is another thing: of another type, out
of range, endless, doubled, gone. A page then shows the rest, or says that it couldn't be read.
"""

from __future__ import annotations

import html
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_origin

import pytest
from babel.messages import pofile
from msgspec import inspect

from portal import i18n
from portal.services import decoding
from portal.services.endpoints import ALL
from tests.pages import test_facts as facts
from tests.pages.test_facts import CASES, EMBRYO, ROLES, Case
from tests.support.clock import Clock
from tests.support.fake_api import NOW, FakeApi, shape_of
from tests.support.full import FULL
from tests.support.in_process import InProcess
from tests.support.marks import source_of

portal = facts.portal
TIMES = 40 if FULL else 3
"""How often each page is read, each time with another oddity."""

DEEP: Any = []
for _ in range(400):
    DEEP = [DEEP]
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1e300, float("inf"), 10**60, "", " ", "‮", "None", "0", "true", "2026-13-40", "9999-12-31", "0001-01-01", "9999-12-31T23:59:59-14:00",
    "0001-01-01T00:00:00+14:00", "x" * 20_000, "<img src=x onerror=alert(1)>", [], [None], [[]], {}, {"": None}, DEEP,
)  # fmt: skip
PROGRAMS_WORDS = re.compile(
    r"(?<![\w/.#-])(?:None(?! has reached)|null|undefined|nan|inf|Infinity|Traceback)(?![\w/-])"
    r"|<(?:\w+\.)+\w+ object|\{'\w+':|datetime\.\w+\("
)
TRANSLATIONS = Path(i18n.__file__).parent / "translations"
STATES = re.compile(
    r"\b(?:no|none|nobody|nothing|never|not|yet|all|everyone|isn’t|aren’t|hasn’t|haven’t|doesn’t|don’t|didn’t)\b",
    re.IGNORECASE,
)
"""What a message that states absence or completeness has."""
ADMITS = re.compile(
    r"clinic’s system|not given|not compared|n[o’]t known|not recorded|can’t be (?:read|shown)|n[o’]t shown here",
    re.IGNORECASE,
)
"""What a message has that says what isn't known."""
TRUE_ALL_THE_SAME = {"A result of a few cells is never a promise and never a verdict."}
"""What may be said of anything."""

ASSERTED: list[tuple[str, str, str, str, str]] = [
    ("amelia", "/consents/c-1", "signed", "ConsentForm.signatures", "Not signed"),
    ("amelia", "/consents/c-1", "signed", "ConsentForm.signatures", "I don’t want to sign"),
    ("nora", "/consents/c-1", "withdrawn", "ConsentForm.signatures", "Declined"),
    (
        "victor",
        "/consents/c-1",
        "to be signed",
        "ConsentForm.requiredSigners",
        "doesn’t ask for your signature",
    ),
    ("amelia", "/consents/c-1/receipt?verify=1", "", "ConsentForm.body", "is not the one that was signed"),
    (
        "amelia",
        "/consents/c-1/receipt?verify=1",
        "",
        "Signature.contentHash",
        "is not the one that was signed",
    ),
    ("amelia", "/consents/c-1/receipt?verify=1", "", "Signature.signedAt", "are not those that were sealed"),
    ("amelia", "/episodes/e-1", "", "Episode.appointments", "No appointment today"),
    ("nora", "/episodes/e-1", "", "Episode.appointments", "No appointment today"),
    ("amelia", "/episodes/e-1/medication", "", "Protocol.startDate", "has no dates yet"),
    ("amelia", "/episodes/e-1/monitoring", "", "Follicles.left", "are at 17 mm or more: 2"),
    ("nora", "/episodes/e-1/monitoring", "", "MonitoringDay.follicles", "of 17 mm or more;"),
    ("amelia", "/episodes/e-1/embryos", "", "EmbryoStorage.disposition", "Not decided yet"),
    ("elif", f"{EMBRYO}?episode=e-1", "", "EmbryoStorage.disposition", "hasn’t decided"),
    ("grace", "/pgt-results/r-1", "", "PgtResult.call", "No result yet"),
    ("victor", "/protocols/p-1", "", "Protocol.patientId", "The clinic’s own, to copy from"),
    ("victor", "/protocols/p-1", "", "Protocol.startDate", "Not set"),
    ("victor", "/protocols/p-1/edit", "", "Protocol.monitoring", "No monitoring yet"),
    ("amelia", "/me", "", "Patient.userId", "none is shown to you"),
    ("nora", "/directories?episode=e-1", "", "Documents.files", "0 files"),
    ("nora", "/consents/new?template=treatment&episode=e-1", "", "Patient.userId", "no account yet"),
    ("nora", "/notifications/settings", "", "NotificationSettings.items", "There are no notifications"),
    ("colin", "/prospects/s-1/book?from=2026-11-30", "", "Physician.workingHours", "no free times"),
]
"""Who opens what, the member that never comes, and what mustn't be said then."""
UNKNOWN: list[tuple[str, str, str, str, str]] = [
    ("amelia", "/consents", "", "ConsentForm.status", "Nothing to sign right now"),
    ("nora", "/", "", "ConsentForm.status", "No consent waits for a signature"),
    ("victor", "/consents", "", "ConsentForm.status", "Nothing waits here"),
    ("amelia", "/consents/c-1/revoke", "", "ConsentForm.status", "hasn’t sent this form yet"),
    ("amelia", f"{EMBRYO}/keep?episode=e-1", "", "EmbryoStorage.status", "no longer in storage"),
    ("elif", "/pgt-results/r-1", "", "PgtResult.status", "before it is released"),
]
"""The same for a member whose value the portal doesn't know."""


class Oddity:
    """Puts one odd value into each JSON answer, at a place and of a kind that `seed` chooses: half of them for a record or list."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.done: list[str] = []

    def __call__(self, path: str, answer: Any) -> Any:
        chance = random.Random(f"{self.seed} {path}")
        places = list(_places(answer, ()))
        if not places:
            return answer
        whole = [place for place in places if isinstance(_at(answer, place), dict | list)]
        place = chance.choice(whole if whole and chance.random() < 0.5 else places)
        odd = chance.choice((*ODD, "gone"))
        self.done.append(f"{path}: {'.'.join(map(str, place))} is {str(odd)[:40]!r}")
        return _with(answer, place, odd)


def _places(value: Any, at: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if at:
        yield at
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _places(member, (*at, name))
    if isinstance(value, list):
        for number, member in enumerate(value):
            yield from _places(member, (*at, number))


def _at(value: Any, place: tuple[str | int, ...]) -> Any:
    for step in place:
        value = value[step]
    return value


def _with(value: Any, place: tuple[str | int, ...], odd: Any) -> Any:
    first, *rest = place
    changed = dict(value) if isinstance(value, dict) else list(value)
    if rest:
        changed[first] = _with(value[first], tuple(rest), odd)
    elif odd == "gone":
        del changed[first]
    else:
        changed[first] = odd
    return changed


PATIENT = {"id", "firstName", "lastName", "preferredName"}
LEFT_OUT = {"caseNumber": {"notes", "diagnosis"}, "embryoCode": {"notes", "pgtResultId"}}
"""By a member that tells the kind of record: what is left out of it."""
ROWS = {"MRN", "Born", "E-mail", "Diagnosis", "Notes", "Your number at the clinic"}
"""The terms of what is left out."""


def without(path: str, answer: Any) -> Any:
    """The answer as patients get it of a partner: with names alone, and without what is kept from patients."""
    if isinstance(answer, list):
        return [without(path, item) for item in answer]
    if not isinstance(answer, dict):
        return answer
    gone = set[str]().union(*(names for told, names in LEFT_OUT.items() if told in answer))
    kept = PATIENT if {"mrn", "firstName"} <= answer.keys() else answer.keys() - gone
    return {name: without(path, value) for name, value in answer.items() if name in kept}


def read(portal: InProcess, fake_api: FakeApi, case: Case, change: Any) -> Any:
    """The answer to opening a page while the API's answers are changed."""
    fake_api.forget()
    for row, answer in case.answers.items():
        fake_api.gives(row, answer)
    fake_api.change = change
    visitor = portal.visitor(case.who, ROLES.get(case.who, "patient"))
    return visitor.http.get(visitor.origin + case.path, allow_redirects=False)


def told(source: str) -> str:
    """What a person reads of a page."""
    return re.sub(r"<[^>]*>", " ", html.unescape(re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", source)))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> InProcess:
    """A portal that remembers no odd answer: what somebody has read is compared with what they read next."""
    return InProcess(tmp_path_factory.mktemp("undisturbed"), Clock(NOW.timestamp))


PAGES = [one for one in CASES if not re.search(r"\.(?:pdf|ics)$", one.path)]

every_page = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.who} {case.path} {case.note}")


@every_page
def test_a_page_works_with_invalid_members(portal: InProcess, fake_api: FakeApi, case: Case) -> None:
    for number in range(TIMES):
        oddity = Oddity(f"{case.who} {case.path} {number}")
        answer = read(portal, fake_api, case, oddity)
        done = f"{case.path} ({'; '.join(oddity.done)})"
        assert answer.status_code in (200, 204, 303, 403, 404, 502, 503), f"{done}: {answer.status_code}"
        source = source_of(answer)
        odd = PROGRAMS_WORDS.search(words := told(source)) if "'None'" not in done else None
        assert odd is None, f"{done}: …{words[max(0, odd.start() - 80) : odd.end() + 20]}…"
        if answer.status_code >= 400:
            assert "<h1" in source, f"{done}: says nothing"


@every_page
def test_a_page_works_with_missing_members(undisturbed: InProcess, fake_api: FakeApi, case: Case) -> None:
    """`userId` says whose record it is: without it, and unless the id is the person's own, nobody may change the record."""
    answer = read(undisturbed, fake_api, case, without)
    expected = 404 if case.path.startswith("/relationships/") else 200
    assert answer.status_code == expected, told(answer.text)[:400]
    terms = {term.strip() for term in re.findall(r"<dt[^>]*>([^<]*)<", answer.text)}
    assert not terms & ROWS, "a row without a value"
    words = told(source_of(answer))
    odd = PROGRAMS_WORDS.search(words)
    assert odd is None, f"…{words[max(0, odd.start() - 80) : odd.end() + 20]}…"


@every_page
def test_a_page_works_with_only_the_required_members(
    undisturbed: InProcess, fake_api: FakeApi, case: Case
) -> None:
    answer = read(
        undisturbed,
        fake_api,
        case,
        lambda path, told: kept(path, told, lambda _name, is_required, _value: is_required),
    )
    # Without signatures, the receipt of a form leads back to the form; 502 where the list with a record never came.
    assert answer.status_code in (200, 303, 403, 404, 501, 502), told(answer.text)[:400]
    assert not PROGRAMS_WORDS.search(told(source_of(answer)))


@pytest.mark.parametrize("case", PAGES, ids=lambda case: f"{case.who} {case.path} {case.note}")
def test_a_page_never_takes_what_it_cant_read_for_none(
    undisturbed: InProcess, fake_api: FakeApi, case: Case
) -> None:
    """Each time one optional member never comes, or a list comes whose rows can't be read: no statement of absence or
    completeness may appear that wasn't there."""
    before, came = stated(undisturbed, fake_api, case)
    chance = random.Random(f"{case.who} {case.path} {case.note}")
    tried = [(one, False) for one in sorted(came)] + [
        (one, ["?"]) for one, is_list in sorted(came.items()) if is_list
    ]
    for member, instead in tried if FULL else chance.sample(tried, k=min(2, len(tried))):
        said, _ = stated(undisturbed, fake_api, case, {member: instead})
        new = said - before - TRUE_ALL_THE_SAME
        assert not new, f"{case.path}: {member} is {instead or 'gone'}: {new}"


@pytest.mark.parametrize(
    ("who", "path", "note", "member", "false", "instead"),
    [*((*one, False) for one in ASSERTED), *((*one, "ZZ-TOP") for one in UNKNOWN)],
)
def test_what_was_once_taken_for_none_isnt(
    undisturbed: InProcess,
    fake_api: FakeApi,
    who: str,
    path: str,
    note: str,
    member: str,
    false: str,
    instead: object,
) -> None:
    case = next(one for one in CASES if (one.who, one.path, one.note) == (who, path, note))
    undisturbed.forget()
    answer = read(
        undisturbed,
        fake_api,
        case,
        lambda path, told: kept(path, told, lambda name, *_: instead if name == member else True),
    )
    words = " ".join(told(source_of(answer)).split())
    assert answer.status_code == 200 or (answer.status_code == 403 and instead)
    assert false not in words


def _each(change: Callable[[str, Any], Any]) -> Callable[[Any], Any]:
    """What does this to every member of an answer, by its name and value."""

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(one) for one in value]
        if not isinstance(value, dict):
            return value
        changed = {name: (one, change(name, one)) for name, one in value.items()}
        return {
            name: walk(one) if new is one else new for name, (one, new) in changed.items() if new != "gone"
        }

    return walk


def _listed(change: Callable[[list[Any]], dict[str, Any]]) -> Callable[[Any], Any]:
    """What does this to every list that is asked for, by its rows."""
    return lambda answer: (
        {**answer, **change(answer["items"])} if isinstance(answer, dict) and "items" in answer else answer
    )


_AT = re.compile(r"\d{4}-\d\d-\d\dT")
_CODES = {"status", "disposition", "severity", "role", "type", "call"}
_ENDS = {"until", "endDate", "endDay", "expiresAt", "revokedAt", "procedureDate", "storageExpiresAt"}
_BRIEF = {"requiredSigners", "signatures", "messages", "medications", "workingHours", "busy", "participants"}
STRANGENESSES: dict[str, Callable[[Any], Any]] = {
    "no date is 0": _each(lambda name, one: 0 if name in _ENDS else one),
    "no date is the year 1": _each(lambda name, one: "0001-01-01T00:00:00Z" if name in _ENDS else one),
    "empty texts": _each(lambda _name, one: "" if one is None else one),
    "no empty members": _each(lambda _name, one: "gone" if one in (None, "", []) else one),
    "local times": _each(
        lambda _name, one: f"{one[8:10]}.{one[5:7]}.{one[:4]}" if _AT.match(str(one)) else one
    ),
    "own words": _each(lambda name, one: "ZZ-TOP" if name in _CODES and isinstance(one, str) else one),
    "decimal commas": _each(lambda _name, one: str(one).replace(".", ",") if type(one) is float else one),
    "yes and no": _each(lambda _name, one: ("Y" if one else "N") if isinstance(one, bool) else one),
    "one in place of a list": _each(
        lambda name, one: one[0] if isinstance(one, list) and one and name != "items" else one
    ),
    "no counts": _listed(lambda _rows: {"totalCount": None}),
    "a count too large": _listed(lambda _rows: {"totalCount": 99}),
    "the first row alone": _listed(lambda rows: {"items": rows[:1], "totalCount": len(rows)}),
    "a count without rows": _listed(lambda rows: {"items": [], "totalCount": len(rows)}),
    "rows are null": _listed(lambda rows: {"items": [None for _row in rows], "totalCount": len(rows)}),
    "a failure as success": _listed(lambda _rows: {"items": [], "ok": False, "code": "X-1"}),
    "rows are briefs": _listed(
        lambda rows: {
            "items": [{name: one for name, one in row.items() if name not in _BRIEF} for row in rows]
        }
    ),
}
"""What vendors' APIs do otherwise, as answers without a dialect show it."""


@pytest.mark.parametrize(
    ("who", "path", "false"),
    [
        ("amelia", "/", "There is no treatment to show yet"),
        ("amelia", "/notifications", "There are no notifications yet"),
        ("amelia", "/conversations", "There are no messages"),
        ("amelia", "/storage", "finds no embryo of yours"),
        ("amelia", "/care-team", "names no physician"),
        ("nora", "/consents?q=a", "No forms here"),
        ("victor", "/protocols", "No protocols here"),
        ("colin", "/prospects/s-1/book?from=2026-11-30", "no physician whose time"),
    ],
)
def test_a_list_with_a_count_and_without_rows_is_not_empty(
    undisturbed: InProcess, fake_api: FakeApi, who: str, path: str, false: str
) -> None:
    case = next(one for one in PAGES if (one.who, one.path) == (who, path))
    for name in ("a count without rows", "rows are null"):
        undisturbed.forget()
        answer = read(undisturbed, fake_api, case, lambda _path, told, name=name: STRANGENESSES[name](told))
        assert false not in " ".join(told(source_of(answer)).split()), name


@pytest.mark.parametrize(
    "case", PAGES if FULL else PAGES[::3], ids=lambda case: f"{case.who} {case.path} {case.note}"
)
def test_two_strangenesses_state_nothing_that_neither_does(
    undisturbed: InProcess, fake_api: FakeApi, case: Case
) -> None:
    def said(*names: str) -> set[str]:
        undisturbed.forget()

        def change(_path: str, answer: Any) -> Any:
            for name in names:
                answer = STRANGENESSES[name](answer)
            return answer

        answer = read(undisturbed, fake_api, case, change)
        assert answer.status_code != 500, names
        words = " ".join(told(source_of(answer)).split())
        return statements_in(words)

    chance = random.Random(f"{case.who} {case.path} {case.note}")
    before = said()
    for _time in range(TIMES if FULL else 1):
        both = chance.sample(sorted(STRANGENESSES), k=2)
        new = said(*both) - before - said(both[0]) - said(both[1]) - TRUE_ALL_THE_SAME
        assert not new, f"{case.path}: {both}: {new}"


def stated(
    portal: InProcess, fake_api: FakeApi, case: Case, changed: Mapping[str, Any] = MappingProxyType({})
) -> tuple[set[str], dict[str, bool]]:
    """The statements of absence or completeness on a page, and the optional members that came, with whether each is a list.

    `changed` members are gone (False), or another value.
    """
    portal.forget()
    came: dict[str, bool] = {}

    def keeps(name: str, is_required: bool, value: Any) -> Any:
        if not is_required:
            came[name] = isinstance(value, list)
        return changed.get(name, True)

    answer = read(portal, fake_api, case, lambda path, answer: kept(path, answer, keeps))
    assert answer.status_code < 500 or (answer.status_code == 502 and changed), f"{case.path}: {changed}"
    words = " ".join(told(source_of(answer)).split())
    return statements_in(words), came


def statements_in(words: str) -> set[str]:
    """The messages that state absence or completeness in these words; those that say what isn't known aside."""
    return {text for text, (part, whole) in _statements().items() if part in words and whole.search(words)}


@cache
def _statements() -> Mapping[str, tuple[str, re.Pattern[str]]]:
    """By message, its longest part without a placeholder, and how it looks on a page."""
    with (TRANSLATIONS / "es/LC_MESSAGES/messages.po").open("rb") as file:
        messages: Iterable[Any] = pofile.read_po(file)
        texts: list[str] = [
            text
            for message in messages
            for text in (message.id if isinstance(message.id, tuple) else (message.id,))
            if STATES.search(text) and not ADMITS.search(text)
        ]
    found: dict[str, tuple[str, re.Pattern[str]]] = {}
    for text in texts:
        parts = re.split(r"%\(\w+\)[sd]", " ".join(text.split()))
        pattern = ".{1,80}?".join(map(re.escape, parts))
        found[text] = (max(parts, key=len), re.compile(rf"(?<![\w’]){pattern}"))
    return found


Keeps = Callable[[str, bool, Any], Any]
"""By a member ("Episode.alerts"), whether the portal requires it, and its value: True, False, or another value."""


def kept(path: str, answer: Any, keeps: Keeps) -> Any:
    """The answer with those members alone that are kept, and the values of those that are changed."""
    row = next(
        row for row in ALL if row.is_safe and re.fullmatch(re.sub(r"{\w+}", "[^/]+", row.template), path)
    )
    return _kept(answer, shape_of(row.answer), keeps)


def _kept(value: Any, shape: inspect.Type, keeps: Keeps) -> Any:
    if isinstance(shape, inspect.UnionType):
        within = [one for one in shape.types if isinstance(one, inspect.StructType | inspect.VarTupleType)]
        return _kept(value, within[0], keeps) if within else value
    if isinstance(shape, inspect.VarTupleType) and isinstance(value, list):
        return [_kept(item, shape.item_type, keeps) for item in value]
    if not isinstance(shape, inspect.StructType) or not isinstance(value, dict):
        return value
    kind = get_origin(shape.cls) or shape.cls
    found: dict[str, Any] = {}
    for field in shape.fields:
        name = field.encode_name
        if name in value:
            is_required = field.required or (kind is decoding.PagedResult and name == "items")
            told = keeps(f"{kind.__name__}.{name}", is_required, value[name])
            if told is not False:
                found[name] = _kept(value[name], field.type, keeps) if told is True else told
    return found
