"""What a genetic test's call means and doesn't mean, and the changes that it names."""

from __future__ import annotations

import re

from markupsafe import Markup

from portal.i18n.gettext import _
from portal.services.pgt_results import PgtCall
from portal.web.text_language import with_lang

_SHARE = re.compile(r"\s*\([\d.,]+\s*%\)$")
"""How many of the cells: only a change of some of the cells has one that can be left out."""


def change_in_words(change: str, *, is_mosaic: bool = False) -> Markup | str:
    """A known kind of change in plain words with the laboratory's beside it; else the laboratory's own.

    In a result that `is_mosaic`, each change is one of some of the cells.
    """
    kind = change.strip().casefold()
    if is_mosaic or kind.startswith("mosaic "):
        more, less = (
            _("more of it than usual, in some of the cells"),
            _("less of it than usual, in some of the cells"),
        )
        kind = _SHARE.sub("", kind.removeprefix("mosaic "))
        plain = {"trisomy": more, "gain": more, "monosomy": less, "loss": less}.get(kind)
    else:
        plain = {
            "trisomy": _("three copies instead of two"),
            "monosomy": _("one copy instead of two"),
            "gain": _("more of it than usual"),
            "loss": _("less of it than usual"),
        }.get(kind)
    return Markup("<span>{} ({})</span>").format(plain, with_lang(change)) if plain else with_lang(change)


def meaning_line(call: PgtCall | None) -> str:
    return meaning_of(call)[0]


def meaning_of(call: PgtCall | None) -> tuple[str, str]:
    few_cells = _(
        "Only a few cells from the outer layer were tested. They may differ from the rest of the embryo."
    )
    match call:
        case PgtCall.EUPLOID:
            return (
                _(
                    "In the cells that were tested, the laboratory found no change above its limit: no chromosome missing, none too many."
                ),
                _("It does not promise a pregnancy or a healthy child: many other things matter too. ")
                + few_cells,
            )
        case PgtCall.LOW_MOSAIC | PgtCall.HIGH_MOSAIC:
            return (
                _("Some of the tested cells had a change in their chromosomes and others had none."),
                _("It does not mean that a child would be ill. Some mosaic embryos lead to healthy children; with a "
                  "higher percentage fewer do. Talk with your clinic about whether to transfer it. ") + few_cells,
            )  # fmt: skip
        case PgtCall.ANEUPLOID:
            return (
                _("In the cells that were tested, chromosomes were missing or too many. Such embryos rarely lead to "
                  "a birth."),
                _("It says nothing about your other embryos, and nobody did anything wrong: this happens by chance "
                  "in many embryos. ") + few_cells,
            )  # fmt: skip
        case PgtCall.SEGMENTAL:
            return (
                _("A part of a chromosome was missing or doubled in the cells that were tested."),
                _("How much that matters depends on the part, and can’t be read from the word alone. ")
                + few_cells,
            )
        case PgtCall.UNAFFECTED:
            return (
                _("The embryo did not have the inherited condition that was tested for."),
                _("Other conditions were not tested. The test can be wrong in a few cases in a hundred."),
            )
        case PgtCall.CARRIER:
            return (
                _("The embryo carries one changed copy of the gene that was tested for."),
                _(
                    "Whether that matters for a child’s health depends on the condition: ask a genetic counsellor. Other conditions were not tested."
                ),
            )
        case PgtCall.AFFECTED:
            return (
                _("The embryo has the inherited condition that was tested for."),
                _("It does not say how strong the condition would be, and nothing about your other embryos."),
            )
        case PgtCall.BALANCED:
            return (
                _(
                    "In the cells that were tested, the laboratory found no part of a chromosome missing or doubled."
                ),
                _("It doesn’t always tell whether the embryo carries the rearrangement itself. ") + few_cells,
            )
        case PgtCall.UNBALANCED:
            return (
                _("A part of a chromosome was missing or doubled because of the rearrangement."),
                _("It says nothing about your other embryos. ") + few_cells,
            )
        case PgtCall.NO_RESULT | PgtCall.INCONCLUSIVE:
            return (
                _("The test gave no clear answer for this embryo."),
                _(
                    "It does not mean that something is wrong with it. The clinic will talk about testing it again."
                ),
            )
        case _:
            return (
                _("The clinic explains this result to you."),
                _("A result of a few cells is never a promise and never a verdict."),
            )
