"""Whatever text comes from outside, reading it takes linear time and raises nothing.

Each function that reads such text is listed in `PARSERS`; a module that begins to read some has to be listed here or among
those that don't. What a page computes ends with its deadline in any case.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from flask import Flask, g
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import portal
from portal import folding, parse, telephone
from portal.i18n import collation
from portal.services import failures, pgt_results, success
from portal.services.conversations import ReplyAddress
from portal.services.rules import danger_signs
from portal.signin import flow
from portal.views import find, notification_words, open_by_id
from portal.views.consents import labels as consent_labels
from portal.views.consents import snapshot
from portal.views.conversations import view
from portal.views.episodes import lookup
from portal.views.protocols import dose_mentions
from portal.views.storage import places, selection
from portal.web import (
    calendar_file,
    choice_names,
    file_names,
    filters,
    forms,
    glossary,
    labels,
    plain_text,
    record_links,
)

ROOT = Path(portal.__file__).parent
CLINIC = SimpleNamespace(hosts=frozenset({"clinic.example"}), country="GB")
AT = datetime(2026, 11, 24, 9, 30, tzinfo=UTC)
LONG = 10**9
_AT_ONCE = 0.01

PARSERS: dict[str, Callable[[str], object]] = {
    "plain_text": lambda text: plain_text.plain_text(text, LONG),
    "plain_text (as HTML)": lambda text: plain_text.plain_text(f"</p>{text}", LONG),
    "says_well": lambda text: success.says_well(msgspec.json.encode({"error": {"message": text}})),
    "danger words": danger_signs.danger_words,
    "danger words in an excerpt": danger_signs.excerpt,
    "whole_number": parse.whole_number,
    "page_number": parse.page_number,
    "byte_count": parse.byte_count,
    "http_date": parse.http_date,
    "amount": parse.amount,
    "week_monday": parse.week_monday,
    "calendar_date": parse.calendar_date,
    "instant": parse.instant,
    "time_of_day": parse.time_of_day,
    "record_id": parse.record_id,
    "line": lambda text: parse.line(text, longest=LONG),
    "paragraphs": lambda text: parse.paragraphs(text, longest=LONG),
    "is_local": parse.is_local,
    "address_parts": parse.address_parts,
    "local_path": flow.local_path,
    "page_of_link": open_by_id.page_of_link,
    "an id or a link (find)": lambda text: (find._LINK.match(text), find._ID.fullmatch(text)),
    "words of a place (storage)": selection.words_of,
    "a place's order (storage)": lambda text: places.natural([text]),
    "episode_id_of": lookup.episode_id_of,
    "changes between forms": lambda text: snapshot._change("part", text, text[::-1]),
    "abbreviation": consent_labels._ABBREVIATION.search,
    "folded": folding.folded,
    "sort_key": lambda text: [collation.sort_key(text, language) for language in ("en", "es", "ar")],
    "reply address": lambda text: view._reply(ReplyAddress(email=text, sms=text)),
    "e164": lambda text: telephone.e164(text, "GB"),
    "as_written": lambda text: telephone.as_written(text, "GB"),
    "terms of the glossary": lambda text: glossary.terms_in([text]),
    "breakable": filters.breakable,
    "unbroken": filters.unbroken,
    "file_name": lambda text: file_names.disposition(text, "application/pdf", is_saved=True),
    "record_links": lambda text: record_links.address_of("embryo", text, data={"episodeId": text}),
    "kind of a record": lambda text: record_links.address_of(text, "1"),
    "calendar": lambda text: calendar_file.serialize(
        [{"uid": text, "summary": text, "location": text, "dtstart": AT}], about="x"
    ),
    "e-mail address": forms._EMAIL.fullmatch,
    "telephone number": forms._PHONE.fullmatch,
    "spaced": choice_names.spaced,
    "visit_name": labels.visit_name,
    "grade_in_words": labels.grade_in_words,
    "sentences of a message": dose_mentions._SENTENCE.split,
    "amounts in a message": dose_mentions._AMOUNT.findall,
    "kind of a notification": notification_words.kind_words,
    "without sex (words)": pgt_results._is_of_known_words,
    "without sex (chromosome)": pgt_results._CHROMOSOME.fullmatch,
    "without sex (code)": pgt_results._CODE.fullmatch,
    "without sex (id)": pgt_results._reference,
    "step_up": failures.step_up,
    "retry_seconds": failures.retry_seconds,
    "rule_named": failures.rule_named,
    "member of a refusal": failures._snake,
}

PIECES = (
    *("<a ", "<a b=\"", "</p><", "<!--", "<!--a>", "-->", "<![", "<script>", "<style></style>", "]]>", "&#", "&#1", "&"),
    *("a", "A", "A-", "a@", "a.", "1", "1.", " ", "\t", "\n", "\r\n", "\n\n\n", "(", "(ab)  ", "[", "%", "%41", ",", ";", "-"),
    *("\u0301\u0316", "a\u0301", "\u202e", "\uff0f", "\0", "ﷺ", "İ", "ß", "/", "//", "\\", "http://[", "clinic.example//"),
    *("+44 ", "x1", "ext. 1", "error=", 'error="', "max_age=", "mosaic ", "p1", "pter", "2024-", "T", "/episodes/", "ab "),
)  # fmt: skip
_TAKING_APART = {
    *("re", "html", "html.parser", "email", "email.utils", "unicodedata", "difflib", "shlex", "csv"),
    *("urlsplit", "urlparse", "parse_qsl", "parse_qs", "phonenumbers", "icalendar"),
}
NOT_THE_PORTAL = {"careservice", "demo", "operate", "config"}
"""They serve no pages: another service, the demo, operators' commands, files that operators write."""

MODULES = (
    *(
        parse,
        folding,
        telephone,
        collation,
        plain_text,
        file_names,
        filters,
        forms,
        labels,
        choice_names,
        calendar_file,
        glossary,
    ),
    *(
        danger_signs,
        view,
        open_by_id,
        find,
        lookup,
        snapshot,
        consent_labels,
        notification_words,
        places,
        selection,
        failures,
        pgt_results,
        success,
        flow,
        dose_mentions,
    ),
)
"""Of the functions in `PARSERS`."""

_OUR_OWN = (
    *("printing/__main__.py", "server/response.py", "connect/needs.py", "services/api.py"),
    "connect/dialects/documents.py",
    *("views/consents/labels.py", "views/style_guide.py", "web/static.py", "web/templates.py"),
)
_OPERATORS = tuple(
    f"connect/dialects/{name}.py" for name in ("dialect", "file", "formats", "lines", "naming", "tables")
)
_WHOLE = (
    *("connect/answers/figures.py", "services/retry.py", "web/errors.py", "web/audit.py", "web/routing.py"),
    "connect/dialects/conversions.py",
    *("services/rules/free_windows.py", "views/notification_fields.py", "signin/client_authentication.py"),
    *("views/passkeys.py", "web/text_language.py", "web/unchanged_bell.py"),
    *(
        "views/protocols/form.py",
        "views/protocols/plan.py",
        "views/protocols/typed_values.py",
        "views/consents/begin_draft.py",
        "services/rules/doses.py",
        "services/physicians.py",
        "services/protocols.py",
        "services/rules/medicine_names.py",
        "signin/claims.py",
    ),
)
OTHERS = {
    **dict.fromkeys(_OUR_OWN, "reads the portal's own text"),
    **dict.fromkeys(_OPERATORS, "reads what operators write; values by patterns of a fixed length"),
    **dict.fromkeys(_WHOLE, "matches a whole value, or each character, by a pattern without choices"),
    "connect/dialects/reading.py": "splits the address of a next page by urllib, once",
    "signin/dpop.py": "matches a whole nonce, and an error's name by a pattern that repeats only spaces",
    "views/pgt_meanings.py": "takes a number off at the end of two known words, by a pattern without choices",
    "views/known_search.py": "matches a whole value of 2,000 characters at most, or each character",
    "store/redis_client.py": "reads the operator's address of the store",
    "services/decoding.py": "reads msgspec's messages, which quote nothing that was sent",
    "signin/discovery.py": "reads addresses of the identity server, of 100 kB at most",
    "signin/pushed_requests.py": "reads addresses of the identity server, of 100 kB at most",
    "signin/passkeys.py": "reads an address within what a browser sends, of limited length",
    "signin/signatures.py": "matches a whole value",
    "signin/tokens.py": "matches a whole value",
    "web/as_patient.py": "reads the portal's own page, in which every text is escaped, and an id of 400 characters at most",
}
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join)


@pytest.fixture(scope="module", autouse=True)
def at_a_clinic() -> Iterator[None]:
    """A request at a clinic, in English."""
    app = Flask(__name__)
    with app.test_request_context("/"):
        g.tenant, g.language = CLINIC, "en"
        yield


@pytest.mark.parametrize("name", PARSERS)
def test_twice_the_text_takes_at_most_two_and_a_half_times_as_long(name: str) -> None:
    read = PARSERS[name]
    for piece in PIECES:
        assert _is_linear(read, piece * (12_000 // len(piece))), (name, piece)


def _is_linear(read: Callable[[str], object], text: str) -> bool:
    """Whether one of some tries says so, each later, as the machine may be busy; what is read at once is not measured further."""
    for pause in (0, 0, 0.1, 0.3, 1, 3):
        time.sleep(pause)
        twice = _seconds(read, text)
        if twice < _AT_ONCE or twice <= 2.5 * _seconds(read, text[: len(text) // 2]):
            return True
    return False


def test_every_module_that_takes_text_apart_is_listed() -> None:
    listed = {str(Path(str(one.__file__)).relative_to(ROOT)) for one in MODULES}
    found = {
        str(file.relative_to(ROOT))
        for file in ROOT.rglob("*.py")
        if not file.is_relative_to(ROOT / "connect/conform")
        and file.relative_to(ROOT).parts[0] not in NOT_THE_PORTAL
        and _takes_text_apart(file)
    }
    assert found - listed - set(OTHERS) == set(), (
        "list what it reads in PARSERS, or in OTHERS why that is bounded"
    )
    assert set(OTHERS) - found == set()


def _takes_text_apart(file: Path) -> bool:
    imports = re.findall(r"^\s*(?:import|from) (.+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    return any(not _TAKING_APART.isdisjoint(re.split(r"[\s,]+", one)) for one in imports)


def _seconds(read: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    read(text)
    return time.thread_time() - began


@given(TEXTS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_no_text_makes_one_of_them_fail(text: str) -> None:
    for name, read in PARSERS.items():
        try:
            read(text)
        except Exception as error:
            error.add_note(name)
            raise
