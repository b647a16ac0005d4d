"""Genetic test results of embryos (care API specification §4, group PGTResult).

The API leaves out an embryo's sex unless the clinic discloses it; a laboratory's free text may still give it
away, so the portal strikes it once more before anything else sees the result.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from portal.services.client import Care
from portal.services.endpoints import READ_PGT_RESULT
from portal.services.records.pgt_results import Abnormality, PgtResult

STRUCK = "▇▇"
"""What stands in place of struck words."""


def get_pgt_result(care: Care, result_id: str) -> PgtResult:
    """The result, without any sex unless it is disclosed.

    GET /api/care/pgt-results/{id} (care API specification §4). Raises `NotFound` for a patient before release.
    """
    result = care.read(READ_PGT_RESULT, PgtResult, id=result_id)
    return result if result.sex_disclosed else without_sex(result)


def without_sex(result: PgtResult) -> PgtResult:
    """The result with its sex taken out and struck from every text; a sex chromosome's change is struck whole."""
    return replace(
        result,
        sex=None,
        condition=None if result.condition is None else without_sex_chromosomes(result.condition),
        comment=None if result.comment is None else without_sex_chromosomes(result.comment),
        abnormalities=tuple(_without_sex(abnormality) for abnormality in result.abnormalities),
    )


def without_sex_chromosomes(text: str) -> str:
    """`text` with sex chromosomes, karyotypes with them, and words for a sex struck (English, Spanish, Arabic).

    Strikes rather too much than too little; conditions named after a chromosome ("X-linked", "fragile X") stay.
    """
    return _SEX.sub(STRUCK, text)


def _without_sex(abnormality: Abnormality) -> Abnormality:
    chromosome = abnormality.chromosome.strip()
    if _SEX_CHROMOSOME.fullmatch(chromosome) or _SEX.search(chromosome):
        return Abnormality(chromosome=STRUCK, change=STRUCK)
    return replace(abnormality, change=without_sex_chromosomes(abnormality.change))


_SEX_CHROMOSOME = re.compile(r"(?:chr(?:omosome)?\.?\s*)?(?:[XYxy]+|23|24)")

_NOT_AFTER_LETTER = r"(?<![^\W\d_])"
_NOT_BEFORE_LETTER = r"(?![^\W\d_])"
_PATTERNS = (
    # karyotypes in ISCN: 46,XX  47,XXY,+21 (the count goes too: 45 with one struck says which)
    r"(?<!\d)\d{2}\s*,?\s*[XY][XYO0]{0,4}" + _NOT_BEFORE_LETTER,
    r"(?<!\d)\d{2}\s*,?\s*[xy]{2,5}" + _NOT_BEFORE_LETTER,
    # named chromosomes: chrX, chromosome y, cromosoma X
    _NOT_AFTER_LETTER
    + r"(?i:chr(?:omosomes?)?|cr(?:omosomas?)?|الكروموسوم|كروموسوم)[.:\s]*[XYxy]"
    + r"(?:[pq][\w.]*)?"
    + _NOT_BEFORE_LETTER,
    _NOT_AFTER_LETTER + r"[xy][-\s]?(?i:chr(?:omosomes?)?)" + _NOT_BEFORE_LETTER,
    # bands, with their place and count: Xq28, Yp11.2, Xp22.33q28, Xp22.31(6,467,202-8,091,950)x1
    _NOT_AFTER_LETTER
    + r"[XY](?:[pq](?:ter|[0-9][0-9.]*)?)+"
    + r"(?:\([0-9,._-]*\))?(?:[x×][0-9]+)?"
    + _NOT_BEFORE_LETTER,
    # alone: X, XY, XXY, XO, +X, -Y, X0; but not "X-linked" and "fragile X"
    r"(?<![Ff]ragile )"
    + _NOT_AFTER_LETTER
    + r"[XY][XYO0]{0,4}"
    + _NOT_BEFORE_LETTER
    + r"(?![-\u2010\u2011 ]?(?:linked|LINKED|Linked))"
    + r"(?:\)\s*[x×]\s*[0-9]+)?",  # "(X)x2": how many there are says as much
    _NOT_AFTER_LETTER + r"[xy]{2,5}" + _NOT_BEFORE_LETTER,
    # words for a sex, and for what only one has
    _NOT_AFTER_LETTER + r"(?i:fe)?(?i:males?)" + _NOT_BEFORE_LETTER,
    _NOT_AFTER_LETTER
    + r"(?i:boys?|girls?|sons|daughters?|SRY|turner|klinefelter|"
    + r"masculin[oa]s?|femenin[oa]s?|var[oó]n(?:es)?|hembras?|machos?|niñ[oa]s?)"
    + _NOT_BEFORE_LETTER,
    _NOT_AFTER_LETTER + r"(?:ال)?(?:ذكر|ذكور|أنثى|انثى|إناث|ولد|صبي|بنت|فتاة)" + _NOT_BEFORE_LETTER,
    r"[♀♂]",
)
_SEX = re.compile("|".join(_PATTERNS))
