"""Whether a new form has what the law of the clinic's country asks of its kind (portal.config.consent_templates.law)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from portal.config.consent_templates import Template, TemplateClause, Templates
from portal.config.consent_templates.law import Matter, Rule
from portal.i18n.gettext import _
from portal.services.consents.forms import CLINIC_ROLES, ONE_PERSON_KINDS, ConsentKind, SignerRole
from portal.views.consents.begin_draft import filled_in
from portal.views.consents.labels import listed
from portal.views.consents.new_form import NewForm
from portal.web.choice_names import choice_name


def template_faults(templates: Templates) -> dict[str, str]:
    """Why templates can't be used, by their names."""
    found = {
        name: _gap(
            templates,
            ConsentKind(template.kind),
            [SignerRole(role) for role in template.signers],
            template.clauses,
        )
        for name, template in templates.by_name.items()
    }
    return {name: words for name, words in found.items() if words}


def text_fault(new_form: NewForm, templates: Templates) -> str:
    """Why a form's text or signers don't do, such as those of a copy; empty if they do."""
    known = _known_clauses(new_form, templates.by_name.values())
    clauses = [found for clause in new_form.body if (found := known.get((clause.heading, clause.text)))]
    return _gap(templates, ConsentKind(new_form.kind), [row.role for row in new_form.rows], clauses)


def asks_for_donor(new_form: NewForm, templates: Templates) -> bool:
    """Whether the form is only for treatment with donated sperm or embryos, and the record names no donor."""
    rules = _rules_of(templates, ConsentKind(new_form.kind))
    return any(rule.only_with_donor for rule in rules) and not new_form.about.has_donor


def faults(new_form: NewForm, templates: Templates) -> list[tuple[str, str]]:
    """The errors as (field id, sentence) pairs."""
    found: list[tuple[str, str]] = []
    if words := text_fault(new_form, templates):
        found.append(("title", words))
    if asks_for_donor(new_form, templates) and not new_form.is_donated:
        words = _(
            "This form is only for treatment with donated sperm or embryos. With own eggs and sperm it isn’t needed."
        )
        found.append(("donated", words))
    return found


def _gap(
    templates: Templates, kind: ConsentKind, roles: Iterable[SignerRole], clauses: Iterable[TemplateClause]
) -> str:
    """What is missing, in a sentence; empty if nothing is."""
    side = [role for role in roles if role not in CLINIC_ROLES]
    if kind in ONE_PERSON_KINDS and len(side) != 1:
        return _(
            "One person signs a form of this kind: it needs a text for one, and a form for each of the two."
        )
    rules = _rules_of(templates, kind)
    named = [rule for rule in rules if rule.signer]
    if named and not any(rule.signer in side for rule in named):
        allowed = listed([choice_name(SignerRole(rule.signer or "")) for rule in named])
        return _(
            "By law (%(law)s) a form of this kind is signed as one of: %(roles)s.",
            law=named[0].law,
            roles=allowed,
        )
    covered = {matter for clause in clauses for matter in clause.covers}
    for rule in rules:
        if rule.signer and rule.signer not in side:
            continue
        if missing := [_matter_word(matter) for matter in rule.covers if matter not in covered]:
            return _(
                "By law (%(law)s) the text itself has to say: %(matters)s. This one doesn’t.",
                law=rule.law,
                matters=listed(missing),
            )
    return ""


def _rules_of(templates: Templates, kind: ConsentKind) -> list[Rule]:
    return [rule for rule in templates.law.rules if ConsentKind(rule.kind) == kind]


def _known_clauses(
    new_form: NewForm, templates: Iterable[Template]
) -> Mapping[tuple[str, str], TemplateClause]:
    return {
        (clause.heading, filled_in(clause.text, new_form.about)): clause
        for template in templates
        for clause in template.clauses
    }


def _matter_word(matter: Matter) -> str:
    words = {
        Matter.USE: _("what the embryos may be used for"),
        Matter.PERIOD: _("how long they are stored"),
        Matter.DEATH: _("what happens if the person dies"),
        Matter.INCAPACITY: _("what happens if the person can no longer decide"),
        Matter.PARTNER_AS_PARENT: _("that the partner is to be the legal parent"),
        Matter.SELF_AS_PARENT: _("that the person signing is to be the legal parent"),
    }
    return words[matter]
