"""A patient's questions for the next visit, which they write down, change and print."""

from __future__ import annotations

from flask import Blueprint, Response, request, url_for

from portal.i18n.gettext import _
from portal.parse import paragraphs
from portal.web import unsent
from portal.web.forms import Form, text
from portal.web.handlers import Care, Page, Person, Side, redirect_to, render, signed_in, toast
from portal.web.kept_questions import LONGEST, keep_questions, questions

bp = Blueprint("questions", __name__, url_prefix="/questions")


class QuestionsPage(Page, template="questions/show.html"):
    """The note as a form; `before` is what it was when it was opened."""

    form: Form
    before: str


@bp.get("")
@signed_in(Side.PATIENT)
def show(care: Care, person: Person) -> Response:
    kept = questions(person)
    given = unsent.restored_form(url_for(".save")) or {}
    form = _form(given.get("questions", kept))
    return render(QuestionsPage(form=form, before=given.get("before", kept)))


@bp.post("")
@signed_in(Side.PATIENT)
@unsent.typed_text("questions", "before")
def save(care: Care, person: Person) -> Response:
    form, before = _form(request.form.get("questions", "")), request.form.get("before", "")
    if not form.validate():
        return render(QuestionsPage(form=form, before=before), status=422)
    typed = paragraphs(form.value("questions"), longest=LONGEST)
    kept = keep_questions(person, typed, before=paragraphs(before, longest=2 * LONGEST))
    if kept is None:
        form.add_error(
            "questions", _("Your questions couldn’t be saved. Try again, or write them down on paper.")
        )
        return render(QuestionsPage(form=form, before=before), status=503)
    if kept != typed:
        toast(_("You wrote more in another window. Both are here now."), tone="attention")
    else:
        toast(_("Your questions are saved.") if kept else _("No questions are saved now."))
    return redirect_to(url_for(".show"))


def _form(typed: str) -> Form:
    label = _("What I want to ask")
    return Form(
        {"questions": text(label, kind="textarea", longest=LONGEST, optional=False)}, {"questions": typed}
    )
