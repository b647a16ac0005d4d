"""Names as they are searched for: without case, accents and apostrophes, so that any keyboard finds them.

`Siân`, `Yıldız`, `Großmann` and `O’Sullivan` are found as sian, yildiz, grossmann and osullivan.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine.default import DefaultExecutionContext
from sqlalchemy.orm import MappedColumn, Mapper, mapped_column

from portal.careservice.database import Base

_FOLDS = "folds"
_LONGEST = 1000
"""More than a name has; normalizing takes the square of a row of accents."""
_ALIKE = str.maketrans(
    {
        "ł": "l",
        "ø": "o",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "æ": "ae",
        "œ": "oe",
        "ı": "i",
        **dict.fromkeys("'’‘ʼʹ`´"),
    }
)
"""Letters that Unicode doesn't take apart into a plain one and its accent, and what stands for an apostrophe."""


def folded(text: str) -> str:
    """The first 1,000 characters of `text` without case, accents and apostrophes."""
    apart = unicodedata.normalize("NFKD", text[:_LONGEST].casefold().translate(_ALIKE))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def folded_from(*names: str) -> MappedColumn[str]:
    """A column with the texts of these columns of its table, folded, as they are inserted and whenever they change."""

    def first(context: DefaultExecutionContext) -> str:
        return _joined(context.get_current_parameters(), names)

    return mapped_column(default=first, info={_FOLDS: names})


@event.listens_for(Base, "before_update", propagate=True)
def _fold_anew(mapper: Mapper[Any], _connection: object, record: Any) -> None:
    for column in mapper.columns:
        if names := column.info.get(_FOLDS):
            setattr(record, column.key, _joined(vars(record), names))


def _joined(values: Any, names: tuple[str, ...]) -> str:
    return folded(" ".join(values.get(name) or "" for name in names))
