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
    *(r"bleed", r"bled\b", r"spotting", r"miscarr", r"contractions?\b", r"palpitat", r"chest\b"),
    *(r"seizure", r"convuls", r"thr(?:ew|ow|owing|own) up", r"temp\b", r"swell"),
    r"blood(?!\W?(?:tests?|results?|samples?|works?|counts?|s)\b)",  # blood tests aren't meant
    *(r"ha?emorrhag", r"clots?\b", r"pain(?!t)", r"hurt", r"(?:head)?aches?\b", r"aching", r"migraine"),
    *(r"cramp", r"sore", r"breath", r"fever", r"temperature", r"shiver", r"vomit", r"nause", r"sick"),
    *(r"faint", r"dizz", r"(?:pass|black)(?:ed|ing) out", r"collaps", r"unconscious", r"vision\b", r"blurr"),
    *(r"swollen", r"bloat", r"urin", r"pee(?:d|ing)?\b", r"rash\b", r"allerg"),
    *(r"missed", r"forgot", r"did(?: not|n\W?t) (?:take|inject)"),
    r"ha(?:ve|s)(?: not|n\W?t) (?:taken|injected)",
    r"skipped (?:it|one|(?:my|the|a|an) (?:\w+ )?(?:dos|inject|pill|tablet|trigger|jab|shot|med))",
    r"(?:took|taken|injected)(?!.{0,15}\btest)[^.?!]{0,25}\btwice\b(?! (?:a|per|daily)\b)",
    r"(?:took|taken|injected|trigger|injection|dose)\b[^.?!]{0,25}\b(?:too|hours?) (?:early|late)\b",
    *(r"overdos", r"wrong (?:dos|med|drug|inject|amount|pen\b|vial|syringe|needle|pill|tablet)"),
    *(r"double (?:the )?(?:dos|amount)", r"two doses", r"too much of"),
    *(r"emergenc", r"ambulance", r"suicid", r"(?:want|wish|going) to die\b", r"kill myself"),
)
_SPANISH = (
    *(
        r"(?:de)?sangr",
        r"hemorragi",
        r"co[aá]gulo",
        r"dol(?:or|[ií]an?\b|i[oó]\b|ido\b|ieron)",
        r"duele",
        r"calambre",
        r"respir",
        r"ahog",
        r"fiebre",
    ),
    *(
        r"escalofr",
        r"v[oó]mit",
        r"n[aá]usea",
        r"desmay",
        r"mare(?:o|os|ada|ado|[eé])\b",
        r"borros",
        r"hincha",
    ),
    *(r"orina", r"alergi", r"olvid", r"no (?:me )?(?:l[ao]s? )?(?:tom[eé]|puse|inyect[eé]|pinch[eé])\b"),
    r"no (?:me )?(?:l[ao]s? )?he (?:tomado|puesto|inyectado|pinchado)"
    r"(?!(?: \w+)? (?:decisi|caf[eé]|alcohol|contacto|acuerdo|nervios))",
    *(r"manch(?:[aoé]|e\b)", r"p[eé]rdidas\b", r"aborto", r"contracci", r"convulsi", r"temperatura"),
    *(r"(?<!dar el )(?<!dando el )pecho\b", r"me (?:he )?salt(?:[eé]|ado)\b"),
    r"me (?:he )?equivo(?:qu[eé]|cado)\b(?! de (?:d[ií]a|fecha|correo|n[uú]mero|puerta))",
    r"(?:tom[eéa]|puse|puesto|inyect|pinch)\w{0,6}[^.?!]{0,25} (?:dos veces\b(?! (?:al|por (?:semana|d[ií]a|mes))\b)|el doble\b)",
    r"(?:tom[eéa]|puse|puesto|inyect|pinch)\w{0,6}[^.?!]{0,25} (?:horas|demasiado) (?:tarde|pronto|antes)\b",
    *(r"dosis (?:equivocad|incorrect|doble)", r"doble dosis", r"urgenci", r"ambulancia", r"morir"),
)
_ARABIC = (
    # The verbs with the letter that says who: I, you, he or she, we.
    *("[أايتن]?نزف", "نزيف", "دم", "ألم", r"الم\b", "آلام", "[أايتنم]?تألم", "[يتم]ؤلم"),
    *("[يت]?وجع", "مغص", "صداع", "[أايتن]?تنفس", "ضيق", "حمى", "حرار[ةته]", "سخون", "قشعريرة"),
    *("قيء", "[أايتن]?تقي[أؤا]", "[أايتن]?ستفر[غا]", "غثيان", "[إا]غماء", "[أاي]غم[يى]", r"وعيي?\b"),
    *("دوخة", "دوار", "تشوش", "زغلل", "تورم", "انتفاخ", "بول", "حساسية", "نسيت", "لم [آأا]خذ"),
    *("آلمن", r"صدري\b", r"في (?:ال)?صدر\b", "خفقان", "[إا]جهاض", "[أا]جهض", "تشنج", "تقلصات"),
    *("لم [أا](?:حقن|تناول)", "(?:لم|ما) (?:[أآا]خذ|حقن|تناول)ت?", "فاتتني (?:ال)?(?:جرع|[إا]بر|حقن|حب)"),
    "[أا]خط[أا]ت في (?:ال)?(?:جرع|دواء|حقن|[إا]بر)",
    r"(?:[أا]خذت|حقنت|تناولت)[^.?!]{0,25} مرتين\b(?! (?:في|باليوم|يوميا))",
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
