"""The language of a form's text, which isn't always that of the reader's screen."""

from __future__ import annotations

from typing import Protocol

from babel import Locale, UnknownLocaleError
from flask import Blueprint, g

from portal.i18n.gettext import _
from portal.i18n.locale import language
from portal.services.consents.forms import ConsentForm, ReadingMode
from portal.web.text_language import primary_language


def register(bp: Blueprint) -> None:
    bp.add_app_template_filter(language_word, "language_name")
    bp.add_app_template_filter(foreign_language, "foreign_language")
    bp.add_app_template_filter(mode_word, "reading_mode")
    bp.add_app_template_filter(reading_words, "read_in")


def language_of_text(form: ConsentForm) -> str:
    """The language of the form's text (BCP 47); if the record doesn't say, the clinic's first."""
    return form.language or str(g.tenant.languages[0])


def foreign_language(form: ConsentForm) -> str | None:
    """The language of the form's text if it isn't that of the screen, else None."""
    text = language_of_text(form)
    return None if primary_language(text) == primary_language(language()) else text


def language_word(code: str | None) -> str:
    """`English` for "en", in the reader's language; an unknown code is returned unchanged."""
    if not code:
        return _("Not recorded")
    try:
        return Locale.parse(code, sep="-").get_display_name(language()) or code
    except (UnknownLocaleError, ValueError):
        return code


def mode_word(mode: ReadingMode, code: str) -> str:
    """How a text in the language `code` was read, in the reader's own words."""
    match mode:
        case ReadingMode.SELF:
            return _("I read it in %(language)s myself", language=language_word(code))
        case ReadingMode.INTERPRETER:
            return _("I read it with an interpreter")
        case _:
            return _("Someone explained it to me aloud, in a language I know well")


class Reading(Protocol):
    """What is known of how a text was read: a signature given, or one about to be."""

    @property
    def language(self) -> str | None: ...
    @property
    def screen_language(self) -> str | None: ...
    @property
    def reading_mode(self) -> ReadingMode | str | None: ...


def reading_words(signature: Reading) -> str:
    """In which language the signer read the text and, if their screen was in another, how."""
    text, screen = language_word(signature.language), signature.screen_language
    if not screen:
        return text
    shown = {"language": text, "screen": language_word(screen)}
    match signature.reading_mode:
        case ReadingMode.SELF:
            return _("%(language)s, without help; the screen was in %(screen)s", **shown)
        case ReadingMode.INTERPRETER:
            return _("%(language)s, with an interpreter; the screen was in %(screen)s", **shown)
        case ReadingMode.EXPLAINED:
            return _("%(language)s, explained aloud; the screen was in %(screen)s", **shown)
        case _:
            return _("%(language)s; the screen was in %(screen)s", **shown)
