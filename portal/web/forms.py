"""Forms of text fields, over WTForms: what was typed stays text until a record is made of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias, cast

import wtforms
import wtforms.form
import wtforms.validators
from flask import g, request
from markupsafe import Markup, escape
from werkzeug.datastructures import MultiDict

from portal.i18n.gettext import _
from portal.parse import calendar_date, paragraphs
from portal.telephone import e164

Values: TypeAlias = dict[str, str]
"""What a form holds: text by field name, "" for an empty field."""

Fields: TypeAlias = Mapping[str, Any]
"""Unbound fields by name, in the order in which they are shown."""

_wt = cast("Any", wtforms)
_checks = cast("Any", wtforms.validators)

_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+")
_LONGEST = 100_000
"""More than any field may hold."""
_PHONE = re.compile(r"\+?[(0-9][0-9 ()./-]{3,38}[0-9]")


class Form:
    """Fields with their values and errors."""

    def __init__(self, fields: Fields, given: Mapping[str, str]) -> None:
        self._form = cast("Any", wtforms.form).BaseForm(fields)
        self._known: dict[str, Mapping[str, str]] = {n: getattr(f, "known", {}) for n, f in fields.items()}
        self._form.process(MultiDict(given))
        self.form_errors: list[str] = []
        self.about: dict[tuple[str | None, str], Collection[str]] = {}
        """The other fields that an error of a field is about."""

    def __getitem__(self, name: str) -> Any:
        return self._form[name]

    def __contains__(self, name: str) -> bool:
        return name in self._form

    def __iter__(self) -> Iterator[Any]:
        return iter(self._form)

    @property
    def errors(self) -> list[str]:
        of_fields = [str(text) for field in self for text in field.errors]
        return [*self.form_errors, *of_fields]

    def validate(self) -> bool:
        return bool(self._form.validate())

    def value(self, name: str) -> str:
        return str(self[name].data or "")

    def add_error(self, name: str | None, text: str, about: Collection[str] = ()) -> None:
        """Add an error to a field or, without a name, to the form; `about` are other fields that it is about, too."""
        self.about[name, text] = about
        if name is None or name not in self:
            self.form_errors.append(text)
        else:
            self[name].errors = [*self[name].errors, text]

    def label(self, name: str) -> str:
        return str(self[name].label.text)

    def words(self, name: str, value: str) -> str:
        """A value as a person reads it: the words of a choice, else the text itself."""
        choices = cast("Iterable[Any]", getattr(self[name], "choices", None) or ())
        known = self._known.get(name, {}).get(value, value)
        return next((str(option.label) for option in choices if option.value == value), known)


def sent(names: Iterable[str], given: Mapping[str, str] | None = None) -> Values:
    """Return what was typed, `cleaned`: what this request's form holds, or the one that is `given`."""
    form = request.form if given is None else given
    return {name: cleaned(form.get(name, "")) for name in names}


def cleaned(typed: str) -> str:
    """Return text as a form holds it (`parse.paragraphs`), long enough still to be told that it is too long."""
    return paragraphs(typed, longest=_LONGEST)


def text(
    label: str,
    *,
    required: str | None = None,
    longest: int = 200,
    kind: str = "text",
    autocomplete: str | None = None,
    check: Callable[[str], str | None] | None = None,
    optional: bool = True,
) -> Any:
    """A line of text; `required` is the sentence for an empty one, `check` returns what is wrong with a given one.

    `kind` is the type of the input, or "textarea". `optional` False leaves out the word for what may be empty.
    """
    field = {"textarea": _wt.TextAreaField, "email": _wt.EmailField, "tel": _wt.TelField}.get(
        kind, _wt.StringField
    )
    attributes = {
        # A date field has no maxlength; False keeps the one from `_fits` out of the tag.
        "maxlength": kind != "date" and longest,
        "autocomplete": autocomplete or "off",
        **({"type": kind} if kind == "date" else {}),
        **({"required": True} if required else {}),
    }
    return field(
        label, [*_presence(required, optional), _fits(longest), _checked(check)], render_kw=attributes
    )


class Choices(NamedTuple):
    """What one may choose, by value and words; `hint` says so when that isn't all there is."""

    pairs: list[tuple[str, str]]
    hint: str | None = None


def choice(
    label: str,
    choices: Sequence[tuple[str, str]],
    *,
    radios: bool = False,
    known: Mapping[str, str] | None = None,
    wrong: str | None = None,
    autocomplete: str | None = None,
    hint: str | None = None,
) -> Any:
    """One of several, by value and words; `wrong` is the sentence for anything else, `hint` is the field's description.

    `known` has the words of values that aren't offered now, but may have been.
    """
    values = [value for value, _words in choices]
    field = (_wt.RadioField if radios else partial(_wt.SelectField, widget=_Select()))(
        label,
        [_checks.AnyOf(values, message=wrong or _("Choose one of these."))],
        choices=[_wt.SelectChoice(value, words) for value, words in choices],
        validate_choice=False,
        render_kw=None if radios else {"autocomplete": autocomplete or "off"},
        description=hint or "",
    )
    field.known = known or {}
    return field


class _Select(_wt.widgets.Select):
    """A list of choices, each written straight: WTForms takes 3 ms for the countries of the world."""

    @classmethod
    def render_option(cls, choice: Any, **attributes: Any) -> Markup:
        chosen = " selected" if choice.selected else ""
        words = escape(choice.label or choice.value)
        return Markup(f'<option{chosen} value="{escape(choice.value)}">{words}</option>')  # noqa: S704 (each part is escaped)


def an_email(value: str) -> str | None:
    return None if _EMAIL.fullmatch(value) else _("Enter an e-mail address like name@example.com.")


def a_phone_number(value: str) -> str | None:
    is_number = _PHONE.fullmatch(value) and e164(value, g.tenant.country)
    return None if is_number else _("Enter a telephone number like +44 7700 900123.")


def a_date(value: str) -> str | None:
    return None if calendar_date(value) else _("Enter a real date, with day, month and year.")


def _presence(required: str | None, optional: bool) -> list[Any]:
    if required:
        return [_checks.InputRequired(required)]
    return [_checks.Optional()] if optional else []


def _fits(longest: int) -> Any:
    return _checks.Length(max=longest, message=_("Write at most %(longest)s characters.", longest=longest))


def _checked(check: Callable[[str], str | None] | None) -> Any:
    def validate(form: object, field: Any) -> None:
        wrong = check(field.data) if check and field.data else None
        if wrong:
            raise _checks.ValidationError(wrong)

    return validate
