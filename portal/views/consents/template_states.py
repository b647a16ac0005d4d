"""What a patient has of each template already: said before one is chosen, so that nobody learns it from a refusal."""

from __future__ import annotations

from collections.abc import Iterable

from flask import url_for

from portal.config.consent_templates import Template, Templates
from portal.folding import folded
from portal.i18n.gettext import _
from portal.services.consents.forms import ConsentForm, ConsentKind
from portal.services.listed import Listed
from portal.services.people import happened_at
from portal.values import Value
from portal.views.consents.labels import names_of, state_word
from portal.web.filters import day


class TemplateState(Value, frozen=True):
    """The patient's newest form of a template, in words; `is_live` if it is open or in force, so that a new one replaces it.

    Without `href`, there is none.
    """

    words: str
    href: str = ""
    is_live: bool = False


def states_of(templates: Templates, forms: Listed[ConsentForm]) -> dict[str, TemplateState]:
    """Return the states by the templates' names; a template isn't said to be unused where forms may be missing."""
    found = {name: _newest(template, forms) for name, template in templates.by_name.items()}
    none = _("never sent") if forms.is_whole else _("not among the forms that could be read")
    return {name: _state(form) if form else TemplateState(none) for name, form in found.items()}


def _newest(template: Template, forms: Iterable[ConsentForm]) -> ConsentForm | None:
    """The newest form of that kind and title; one that is open or signed before one that has ended."""
    alike = [form for form in forms if _name(form.kind, form.title) == _name(template.kind, template.title)]
    return max(alike, key=lambda form: (form.is_open or form.is_signed, happened_at(form)), default=None)


def _name(kind: ConsentKind | str | None, title: str) -> tuple[str, str]:
    return str(ConsentKind(str(kind or ""))).casefold(), folded(" ".join(title.split()))


def _state(form: ConsentForm) -> TemplateState:
    href = url_for("consents.show", consent_id=form.id)
    if form.is_signed:
        last = max(
            (signature.signed_at for signature in form.signatures if signature.signed_at),
            default=form.effective_at,
        )
        return TemplateState(_("signed %(day)s", day=day(last)) if last else _("signed"), href, is_live=True)
    if form.is_open:
        words = _("waits for %(names)s", names=names_of(form.missing_signers))
        if form.sent_at:
            words = _(
                "sent %(day)s, waits for %(names)s",
                day=day(form.sent_at),
                names=names_of(form.missing_signers),
            )
        return TemplateState(words, href, is_live=True)
    if form.revoked_at:
        return TemplateState(_("%(state)s %(day)s", state=state_word(form), day=day(form.revoked_at)), href)
    return TemplateState(state_word(form), href)
