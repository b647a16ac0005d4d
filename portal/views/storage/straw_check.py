"""The page before an irreversible move of an embryo, which asks for what is on its straw."""

from __future__ import annotations

import msgspec
from flask import request

from portal.i18n.gettext import _
from portal.parse import line
from portal.services.consents.forms import ConsentForm, Signature
from portal.services.rules.embryo_moves import second_signatures
from portal.services.storage import EmbryoStatus, EmbryoStorage
from portal.views.embryo_view import EmbryoView
from portal.views.storage.moves import Moves
from portal.views.storage.pending_moves import PendingMove
from portal.web import labels
from portal.web.pages import Page

_LONGEST_CODE = 100


class StrawCheckPage(Page, template="storage/straw_check.html", about="view", is_pinned=True, hides_mrn=True):
    """Asks for what is on the embryo's straw before an irreversible move, and shows what allows the move.

    The page doesn't contain what is to be typed. `form` is the one that allows the move and `second` the signatures of a
    second person on it; `pending` is what somebody else sent, where this person is the second. `action` and `carried` are its
    form's address and hidden fields. `more` is what the second person sends besides: fields and their text.
    """

    view: EmbryoView
    wanted: str
    is_final: bool
    is_use: bool
    form: ConsentForm | None
    second: tuple[Signature, ...]
    action: str
    carried: list[tuple[str, str]]
    typed: StrawLabel
    faults: list[tuple[str, str]]
    pending: PendingMove | None
    more: list[tuple[str, str]]


class StrawLabel(msgspec.Struct, frozen=True):
    """The embryo's code and its patient's record number, as typed or scanned from the straw; None if not given yet."""

    code: str | None
    record_number: str | None

    @classmethod
    def posted(cls) -> StrawLabel:
        given = (request.form.get("code"), request.form.get("record_number"))
        return cls(*(None if text is None else line(text, longest=_LONGEST_CODE) for text in given))

    def faults(self, view: EmbryoView) -> list[tuple[str, str]]:
        """The errors by field, without telling what is expected."""
        found: list[tuple[str, str]] = []
        if not _is_same(self.code, view.embryo.embryo_code):
            words = _(
                "This isn’t the code of the embryo that you opened. If the straw says so, stop: it is another one."
            )
            found.append(("code", words))
        if (number := view.record_number) and not _is_same(self.record_number, number):
            words = _(
                "This isn’t the patient’s record number. If the straw says so, stop: it is another patient’s."
            )
            found.append(("record_number", words))
        return found


def straw_check_page(
    view: EmbryoView,
    moves: Moves,
    wanted: EmbryoStatus,
    typed: StrawLabel,
    *,
    action: str,
    carried: list[tuple[str, str]],
    pending: PendingMove | None = None,
    more: list[tuple[str, str]] | None = None,
) -> StrawCheckPage:
    """The page that asks who is signed in for what is on the straw, before the embryo becomes `wanted`."""
    move = moves.to(view.embryo, wanted)
    form = move.form if move else None
    return StrawCheckPage(
        view=view,
        wanted=labels.embryo_status_term(view.embryo, wanted),
        is_final=EmbryoStorage.is_final(wanted),
        is_use=wanted in (EmbryoStatus.THAWED, EmbryoStatus.TRANSFERRED),
        form=form,
        second=second_signatures(form, moves.person) if form else (),
        action=action,
        carried=carried,
        typed=typed,
        faults=[] if typed.code is None else typed.faults(view),
        pending=pending,
        more=more or [],
    )


def _is_same(typed: str | None, expected: str) -> bool:
    """Whether both say the same; nothing is no code that could be on a straw."""
    given = "".join((typed or "").split())
    return bool(given) and given == "".join(expected.split())
