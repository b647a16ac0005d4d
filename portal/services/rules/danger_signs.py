"""Words in patients' messages that may mean danger, such as bleeding, pain or fever, in the portal's languages.

They lift a message to the top of a list and are marked in it; no message is judged harmless by their absence.
"""

from __future__ import annotations

import re
from itertools import islice

_LONGEST = 65_536
"""How many characters of a message are looked through: all that a page shows of it."""
_AROUND = 60

_ENGLISH = (
    r"bleed",
    r"blood(?!\W?(?:tests?|results?|samples?|works?|counts?|s)\b)",  # blood tests aren't meant
    *(r"ha?emorrhag", r"clots?\b", r"pain(?!t)", r"hurt", r"(?:head)?aches?\b", r"aching", r"migraine"),
    *(r"cramp", r"sore", r"breath", r"fever", r"temperature", r"shiver", r"vomit", r"nause", r"sick"),
    *(r"faint", r"dizz", r"(?:pass|black)ed out", r"collaps", r"unconscious", r"vision\b", r"blurr"),
    *(r"swollen", r"swelling", r"bloat", r"urin", r"pee(?:d|ing)?\b", r"rash\b", r"allerg"),
    *(r"missed", r"forgot", r"did(?: not|n\W?t) (?:take|inject)"),
    r"ha(?:ve|s)(?: not|n\W?t) (?:taken|injected)",
    *(r"overdos", r"wrong (?:dos|med|drug|inject|amount)", r"double dos", r"two doses", r"too much of"),
    *(r"emergenc", r"ambulance", r"suicid", r"(?:want|wish|going) to die\b", r"kill myself"),
)
_SPANISH = (
    *(r"sangr", r"hemorragi", r"co[aá]gulo", r"dolor", r"duele", r"calambre", r"respir", r"ahog", r"fiebre"),
    *(r"escalofr", r"v[oó]mit", r"n[aá]usea", r"desmay", r"mare(?:o|os|ada|ado)\b", r"borros", r"hincha"),
    *(r"orina", r"alergi", r"olvid", r"no (?:me )?(?:tom[eé]|puse|inyect[eé]|pinch[eé])\b"),
    *(r"dosis (?:equivocad|incorrect|doble)", r"doble dosis", r"urgenci", r"ambulancia", r"morir"),
)
_ARABIC = (
    # The verbs with the letter that says who: I, you, he or she, we.
    *("[أايتن]?نزف", "نزيف", "دم", "ألم", r"الم\b", "آلام", "[أايتنم]?تألم", "[يتم]ؤلم"),
    *("[يت]?وجع", "مغص", "صداع", "[أايتن]?تنفس", "ضيق", "حمى", "حرار[ةته]", "سخون", "قشعريرة"),
    *("قيء", "[أايتن]?تقي[أؤا]", "[أايتن]?ستفر[غا]", "غثيان", "[إا]غماء", "[أاي]غم[يى]", r"وعيي?\b"),
    *("دوخة", "دوار", "تشوش", "زغلل", "تورم", "انتفاخ", "بول", "حساسية", "نسيت", "لم [آأا]خذ"),
    *("جرعة (?:ال)?(?:خاطئ|خط[أا]|مضاعف|زائد)", "طوارئ", "إسعاف", "[أايتن]نتح[را]", "س?[أا]موت"),
)
_DANGER = re.compile(
    rf"\b(?:{'|'.join(_ENGLISH + _SPANISH)})\w{{0,12}}|\b[وفبكل]{{0,2}}(?:ال)?(?:{'|'.join(_ARABIC)})\w{{0,3}}\b",
    re.IGNORECASE,
)


def danger_words(*texts: str) -> tuple[str, ...]:
    """The words of danger in these texts, as written, each once; at most five."""
    found = dict.fromkeys(match.group() for text in texts for match in _DANGER.finditer(text[:_LONGEST]))
    return tuple(islice(found, 5))


def excerpt(text: str, most: int = 160) -> list[tuple[str, bool]]:
    """The beginning of a text, or the part about its first word of danger, in pieces: each with whether it is such a word."""
    line = " ".join(text[:_LONGEST].split())
    first = _DANGER.search(line)
    begin = max(first.start() - _AROUND, 0) if first and first.end() > most else 0
    shown, end = line[begin : begin + most], 0
    pieces = [("…", False)] if begin else []
    for match in _DANGER.finditer(shown):
        pieces += [(shown[end : match.start()], False), (match.group(), True)]
        end = match.end()
    return [*pieces, (shown[end:], False)]
