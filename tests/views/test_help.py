"""Help for patients: the clinic's contacts, treatment terms in every language, the welcome on the first visit."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask

from portal.careservice.ids import sample_id
from portal.config.tenants import LANGUAGES
from portal.web import glossary
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor

MONITORING = f"/episodes/{sample_id('episode', 'amelia-1')}/monitoring"


def test_help_begins_with_the_clinics_contacts_and_its_links_work(amelia: Visitor) -> None:
    page = amelia.get("/help")
    first = page.select("main section.card")[0]
    mail = first.select_one("a[href^='mailto:']")
    assert first.select_one("a[href^='tel:+44']") and mail
    assert mail.text_content() == "care@riverside.example"
    assert "care<wbr" in page.text, "the address may break before its @"
    for link in page.select("main a[href^='/']"):
        amelia.get(str(link["href"]))


@pytest.mark.parametrize(
    ("who", "path", "about"),
    [
        ("amelia", "/conversations", ""),
        ("amelia", f"/consents/{sample_id('consent', 'amelia-genetic')}", "PGT-A"),
        ("amelia", f"/consents/{sample_id('consent', 'amelia-genetic')}/sign", "PGT-A"),
        ("grace", f"/storage/{sample_id('embryo', 'GO-3')}", "GO-3"),
        ("grace", f"/pgt-results/{sample_id('pgt-result', 'GO-5')}", "GO-5"),
    ],
)
def test_a_message_begins_on_the_page_of_what_it_is_about(
    portal: PortalThread, who: str, path: str, about: str
) -> None:
    links = [str(link["href"]) for link in portal.sign_in(who).get(path).select("main a[href^='mailto:']")]
    bodies = [parse_qs(urlsplit(link).query).get("body", [""])[0] for link in links]
    assert links and any(about in body for body in bodies), links


def test_staff_have_a_help_of_their_own(portal: PortalThread, amelia: Visitor) -> None:
    assert amelia.get("/help").select("nav a[href='/help'][aria-current=page]")
    nora = portal.sign_in("nora")
    page = nora.get("/").follow("Help")
    assert page.select("nav a[href='/help'][aria-current=page]")
    assert "Ctrl K on every page" in page.words
    assert "Ctrl K" not in amelia.get("/help").words
    for link in page.select("main a[href^='/']"):
        nora.get(str(link["href"]))


def test_the_words_are_searched_without_regard_to_case_and_accents(amelia: Visitor) -> None:
    found = amelia.get("/help/words?q=FÓLLICLE")
    terms = [term.text_content() for term in found.select("#words details[open] summary")]
    assert "Follicle" in terms and len(terms) < len(glossary.by_language()["en"])
    nothing = amelia.get("/help/words?q=zebra")
    assert not nothing.select("#words summary") and "“zebra” isn’t explained here." in nothing.words
    assert len(nothing.follow("All words").select("#words summary")) == len(glossary.by_language()["en"])


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("ar", "أوافق على نقل العينات إلى المختبر.", []),
        ("ar", "قد يُنقل جنين واحد: نقل جنين واحد.", ["transfer"]),
        ("en", "My data may be transferred to another clinic, and I pay by wire transfer.", []),
        ("en", "The medicine can trigger an allergy.", []),
        ("en", "I can withdraw until an embryo is transferred.", ["transfer"]),
        ("en", "We may change the trigger.", ["trigger"]),
        ("es", "Pago por transferencia bancaria tras la punción lumbar.", []),
        ("es", "La transferencia de embriones y la punción ovárica.", ["transfer", "collection"]),
    ],
)
def test_no_term_is_found_in_words_that_say_something_else(
    language: str, text: str, terms: list[str]
) -> None:
    with Flask("x").test_request_context():
        assert glossary.terms_in([text], language) == terms


def test_each_term_is_explained_in_every_language() -> None:
    words = glossary.by_language()
    assert set(words) == set(LANGUAGES)
    assert len(words["en"]) >= 12
    for code in LANGUAGES:
        assert words[code].keys() == words["en"].keys()
        assert all(one.term and len(one.meaning) > 30 for one in words[code].values())
    for id_, one in words["en"].items():
        others = [words[code][id_].meaning for code in LANGUAGES if code != "en"]
        assert one.meaning not in others and len(set(others)) == len(others)


def test_a_term_can_be_explained_in_place_without_scripts(amelia: Visitor) -> None:
    page = amelia.get(MONITORING)
    button = page.tree.select_one("button[popovertarget=word-follicle]")
    tip = page.tree.select_one("#word-follicle[popover]")
    assert button.text_content() == "Follicle" and button["type"] == "button"
    assert glossary.by_language()["en"]["follicle"].meaning in tip.text_content()
    assert amelia.get(str(tip.select_one("a")["href"])).tree.select_one("#follicle")


FORM = f"/consents/{sample_id('consent', 'amelia-genetic')}"


@pytest.mark.parametrize("path", [FORM, f"{FORM}/sign/read"])
def test_terms_of_a_form_are_explained_and_its_text_stays_as_it_is(
    amelia: Visitor, portal: PortalThread, path: str
) -> None:
    page = amelia.get(path)
    for term, written in (("trophectoderm", "trophectoderm"), ("euploid", "euploid"), ("mosaic", "mosaic")):
        (button,) = page.select(f".paper button[popovertarget=word-{term}]")
        assert button.text_content() == written
        assert len(page.select(f"#word-{term}[popover]")) == 1
        assert not page.select(f".paper #word-{term}"), "an explanation stands outside the text"
    as_sent = portal.sign_in("victor").get(FORM)
    assert not as_sent.select(".paper button.word")
    texts = [
        [p.text_content().split() for p in one.select(".clause-text .as-written")] for one in (page, as_sent)
    ]
    assert texts[0] == texts[1] != []


SIGNED = f"/consents/{sample_id('consent', 'amelia-treatment-2')}"
EMBRYO = f"/storage/{sample_id('embryo', 'GO-3')}"


@pytest.mark.parametrize(
    ("who", "path", "named"),
    [
        ("amelia", FORM, "Consent to preimplantation genetic testing"),
        ("amelia", f"{FORM}/sign/read", "Consent to preimplantation genetic testing"),
        ("amelia", f"{FORM}/revoke", "Consent to preimplantation genetic testing"),
        ("amelia", f"{SIGNED}/receipt", "Consent to IVF"),
        ("grace", EMBRYO, "GO-3"),
        ("grace", f"{EMBRYO}/keep", "GO-3"),
        ("grace", f"{EMBRYO}/end-storage", "GO-3"),
        ("grace", f"/pgt-results/{sample_id('pgt-result', 'GO-1')}", "GO-1"),
    ],
)
def test_a_letter_about_what_the_page_shows_is_one_tap_away(
    portal: PortalThread, who: str, path: str, named: str
) -> None:
    (link,) = portal.sign_in(who).get(path).select(".page-beside .write a")
    letter = parse_qs(urlsplit(str(link["href"])).query)
    assert named in letter["body"][0]
    assert named not in letter["subject"][0], "others may see subjects"


def test_the_welcome_stays_on_home_until_dismissed(portal: PortalThread) -> None:
    grace = portal.sign_in("grace")
    page = grace.get("/")
    assert page.tree.select_one(".welcome a[href='/help']")
    after = page.form("/help/welcome").submit()
    assert after.path == "/" and not after.tree.select_one(".welcome")
    (cookie,) = [one for one in grace.http.cookies if one.name == "welcomed"]
    assert (cookie.value, cookie.secure) == ("1", True)
    assert not grace.get("/").tree.select_one(".welcome")
