"""A form's text in another language than the screen: how it is marked, signed and told on the receipt."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.signing import change_record, fresh_form, make_form

ASKED = "¿Cómo has leído el formulario?"
WRITTEN_IN = "Este formulario está escrito en inglés"


@pytest.fixture
def amelia(portal: Any) -> Any:
    """Amelia, whose screen is in Spanish."""
    visitor = portal.sign_in("amelia")
    visitor.post("/language", {"language": "es", "next": "/consents"})
    return visitor


def test_a_text_in_another_language_says_so_and_is_marked(amelia: Any, form: str) -> None:
    page = amelia.get(form)
    assert WRITTEN_IN in page.words, page.words
    assert "con intérprete" in page.words
    assert [part.get("lang") for part in page.select(".paper h1, .clause-text")[:2]] == ["en", "en"]
    assert page.select(".clause-plain .eyebrow")[0].get("lang") is None


def test_a_text_in_the_language_of_the_screen_asks_and_says_nothing(portal: Any, form: str) -> None:
    page = portal.sign_in("amelia").get(f"{form}/sign")
    assert "This form is written in" not in page.words and not page.select("[name=reading_mode]")
    assert not page.select(".paper [lang]")


def test_reading_in_another_language_asks_how_before_going_on(amelia: Any, form: str) -> None:
    page = amelia.get(f"{form}/sign")
    assert ASKED in page.words
    again = page.form(f"{form}/sign").submit()
    assert again.path == f"{form}/sign/read" and "Elige cómo has leído el formulario." in again.words
    assert again.select("#reading-mode[data-invalid]")


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("Self", "English, without help; the screen was in Spanish"),
        ("Interpreter", "English, with an interpreter; the screen was in Spanish"),
        ("Explained", "English, explained aloud; the screen was in Spanish"),
    ],
)
def test_the_receipt_tells_both_languages_and_how_it_was_read(
    amelia: Any, form: str, mode: str, told: str
) -> None:
    page = amelia.get(f"{form}/sign").form(f"{form}/sign").submit(reading_mode=mode)
    page = page.form(f"{form}/sign").submit(check_all=True)
    assert page.form(f"{form}/sign").submit(signature="Amelia Hart").path == f"{form}/receipt"
    amelia.post("/language", {"language": "en", "next": "/consents"})
    receipt = amelia.get(f"{form}/receipt")
    assert told in receipt.words and "Language of the text English" in receipt.words


def test_a_text_without_a_known_language_counts_as_in_the_clinics_first(
    amelia: Any, form: str, service: Any
) -> None:
    change_record(service.plan, form, language=None)
    page = amelia.get(f"{form}/sign")
    assert WRITTEN_IN in page.words
    page = page.form(f"{form}/sign").submit(reading_mode="Self").form(f"{form}/sign").submit(check_all=True)
    page.form(f"{form}/sign").submit(signature="Amelia Hart")
    assert "inglés, sin ayuda" in amelia.get(f"{form}/receipt").words


def test_a_text_in_the_readers_language_is_signed_in_it_though_the_clinics_first_is_another(
    amelia: Any, form: str, service: Any
) -> None:
    change_record(service.plan, form, language="es-ES")
    page = amelia.get(f"{form}/sign")
    assert ASKED not in page.words
    page = page.form(f"{form}/sign").submit().form(f"{form}/sign").submit(check_all=True)
    page.form(f"{form}/sign").submit(signature="Amelia Hart")
    assert "español (España)" in amelia.get(f"{form}/receipt").words


def test_staff_with_another_screen_language_are_asked_on_their_one_page(portal: Any, service: Any) -> None:
    form = fresh_form(service.plan)
    victor = portal.sign_in("victor")
    victor.post("/language", {"language": "es", "next": "/consents"})
    page = victor.get(f"{form}/sign")
    again = page.form(f"{form}/sign").submit(check_all=True, signature="Victor Castellanos")
    assert "Elige cómo has leído el formulario." in again.words
    done = again.form(f"{form}/sign").submit(
        check_all=True, signature="Victor Castellanos", reading_mode="Self"
    )
    assert done.path == f"{form}/receipt"


def test_a_new_form_has_its_templates_language(portal: Any) -> None:
    nora = portal.sign_in("nora")
    form = make_form(nora, title="A form whose language is known")
    assert "Language English" in nora.get(form).words
