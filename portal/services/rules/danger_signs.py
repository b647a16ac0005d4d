"""Words in patients' messages that may mean danger, such as bleeding, pain or fever, in the portal's languages.

They lift a message to the top of a list and are marked in it; no message is judged harmless by their absence.
"""

from __future__ import annotations

import re
from itertools import islice

_LONGEST = 65_536
"""How many characters of a message are looked through: all that a page shows of it."""
_AROUND = 60

_DOSE = r"(?:dos|inject|pill|tablet|trigger|jab|shot|med(?:s|ic(?:ine|ation))\b)"
_ENGLISH = (
    *(r"bleed", r"bled\b", r"spotting", r"miscarr", r"contractions?\b", r"palpitat", r"chest\b"),
    *(r"seizure", r"convuls", r"thr(?:ew|ow|owing|own) up", r"temp\b", r"swell"),
    r"blood(?!\W?(?:tests?|results?|samples?|works?|counts?|s)\b)",  # blood tests aren't meant
    *(r"ha?emorrhag", r"clots?\b", r"pain(?!t)", r"hurt", r"aching", r"migraine", r"agony\b"),
    *(r"(?:head|stomach|belly|tummy|back)?aches?\b", r"numb(?:ness)?\b", r"itch", r"hives\b", r"diarrh"),
    *(r"cramp", r"sore", r"breath", r"fever", r"temperature", r"shiver", r"vomit", r"nause", r"sick"),
    *(
        r"faint",
        r"dizz",
        r"(?:pass|black)(?:ed|ing) out",
        r"blackout",
        r"collaps",
        r"unconscious",
        r"vision\b",
    ),
    *(
        r"blurr",
        r"swollen",
        r"bloat",
        r"urin",
        r"pee(?:d|ing)?\b",
        r"rash\b",
        r"allerg",
        r"ectopic",
        r"ohss\b",
    ),
    *(r"heart (?:is |was )?(?:racing|pounding)", r"waters? (?:\w+ )?bro(?:ke|ken)\b"),
    *(r"missed(?! (?:\w+ )?(?:call|e-?mail|message)s?\b)", r"forgot(?!\w* (?:(?:my|the) )?password)"),
    *(r"did(?: not|n\W?t) (?:take|inject)", r"never (?:took|taken|injected)"),
    r"(?:ha(?:ve|s)(?: not|n\W?t)|i\W?ve not|we\W?ve not) (?:taken|injected)",
    r"(?:did(?: not|n\W?t) (?:do|have|get|give)|ha(?:ve|s)(?: not|n\W?t) (?:done|had|given))"
    rf" (?:myself )?(?:my|the|an?) (?:\w+ )?{_DOSE}",
    rf"skipped (?:it|one|(?:my|the|an?) (?:\w+ )?{_DOSE})",
    r"(?:took|taken|injected)(?!.{0,15}\btest)[^.?!]{0,25}\btwice\b(?! (?:a|per|daily)\b)",
    r"(?:took|taken|injected|trigger|injection|dose)\b[^.?!]{0,25}\b(?:too|hours?) (?:early|late)\b",
    r"(?:took|taken|injected|trigger|injection|dose)\b[^.?!]{0,25}\binstead of (?:\d|one\b|two\b|half\b)",
    rf"(?:took|taken|injected|gave)\b[^.?!]{{0,25}}\bextra {_DOSE}",
    r"(?:i took|taken|injected|gave myself)\b[^.?!]{0,25}\b(?:too (?:much|many)\b(?! time)|double\b|the wrong\b)",
    *(r"overdos", rf"wrong (?:{_DOSE}|drug|amount|pen\b|vial|syringe|needle)"),
    *(r"double (?:the )?(?:dos|amount)", r"two doses", r"too much of"),
    *(
        r"emergenc",
        r"ambulance",
        r"suicid",
        r"(?:want|wish|going) to die\b",
        r"(?:kill|harm(?:ing|ed)?) myself",
    ),
    *(r"end (?:my life|it all)\b", r"do(?: not|n\W?t) want to live\b(?! (?:in|at|with|near|here|there)\b)"),
)
_SPANISH = (
    # Blood that is drawn for a test isn't meant.
    r"(?<!an[aá]lisis de )(?<!anal[ií]tica de )(?<!prueba de )(?<!pruebas de )(?<!muestra de )(?<!extracci[oó]n de )sangr",
    *(r"desangr", r"hemorragi", r"co[aá]gulo", r"dol(?:or|iendo\b|[ií]an?\b|i[oó]\b|ido\b|ieron)", r"duele"),
    *(r"calambre", r"c[oó]lico", r"respir", r"ahog", r"falta (?:mucho )?(?:el|de) aire\b", r"fiebre"),
    *(r"escalofr", r"v[oó]mit", r"n[aá]usea", r"diarrea", r"desmay", r"mare(?:o|os|ada|ado|[eé])\b"),
    *(r"borros", r"hincha", r"inflamad", r"palpitaci", r"taquicardi", r"hiperestimulaci", r"ect[oó]pic"),
    *(r"orina", r"al[eé]rgi", r"sarpullido", r"ronchas", r"pic(?:or|az[oó]n)\b"),
    *(
        r"olvid(?!\w* (?:(?:la|mi) )?contraseña)",
        r"no (?:me )?(?:l[ao]s? )?(?:tom[eé]|puse|inyect[eé]|pinch[eé])\b",
    ),
    r"no (?:me )?(?:l[ao]s? )?he (?:tomado|puesto|inyectado|pinchado)"
    r"(?!(?: \w+)? (?:decisi|caf[eé]|alcohol|contacto|acuerdo|nervios))",
    r"se me (?:ha )?pas(?:[oó]|ado) (?:\w+ )?(?:inyecci|pinchazo|dosis|pastilla|medicaci|toma\b)",
    *(r"manch(?:[aoé]|e\b)", r"p[eé]rdidas\b", r"p[eé]rdida de l[ií]quido", r"abort(?:[oéó]|ando|ado)\b"),
    *(r"contracci", r"convulsi", r"temperatura"),
    *(r"(?<!dar el )(?<!dando el )pecho\b", r"me (?:he )?salt(?:[eé]|ado)\b"),
    r"me (?:he )?(?:equivo(?:qu[eé]|cado)|confund(?:[ií]|ido))\b"
    r"(?! (?:de|con) (?:el |la )?(?:d[ií]a|fecha|hora de la cita|correo|n[uú]mero|puerta))",
    r"(?:tom[eéa]|puse|puesto|inyect|pinch)\w{0,6}[^.?!]{0,25} (?:dos veces\b(?! (?:al|por (?:semana|d[ií]a|mes))\b)|el doble\b)",
    r"(?:tom[eéa]|puse|puesto|inyect|pinch)\w{0,6}(?:[^.?!]{0,25} (?:horas?|demasiado))? tarde\b",
    r"(?:tom[eéa]|puse|puesto|inyect|pinch)\w{0,6}[^.?!]{0,25} (?:horas?|demasiado) (?:pronto|antes)\b",
    r"(?:tom[eéa]|puse|puesto|inyect|pinch)\w{0,6}[^.?!]{0,25} (?:de m[aá]s\b|en (?:vez|lugar) de (?:las )?\d)",
    r"(?:dosis|inyecci[oó]n|medicaci[oó]n|medicamento|pastilla|pluma) (?:equivocad|incorrect)",
    *(r"sobredosis", r"dosis doble", r"doble dosis", r"urgenci", r"ambulancia"),
    *(
        r"morir",
        r"matarme\b",
        r"quitarme la vida\b",
        r"no quiero (?:seguir viviendo|vivir)\b(?! (?:en|con|aqu[ií])\b)",
    ),
)
_ARABIC = (
    # The verbs with the letter that says who: I, you, he or she, we.
    *("[أايتن]?نزف", "نزيف", "ألم", r"الم\b", "آلام", "[أايتنم]?تألم", "[يتم]ؤلم"),
    # Blood that is drawn for a test isn't meant, nor Damascus, merging or tears.
    "(?<!تحليل )(?<!تحليل ال)(?<!تحاليل )(?<!تحاليل ال)(?<!فحص )(?<!فحص ال)(?<!عينة )(?<!عينة ال)(?<!سحب )(?<!سحب ال)دم(?!شق|ج|ع|وع)",
    *("[يت]?وجع", "موجوع", "مغص", "صداع", "[أايتن]?تنفس", "[أايتن]?ختن[اق]", r"ضيق\b(?! (?:ال)?وقت)", "حمى"),
    *("حرار[ةته]", "سخون", "قشعريرة"),
    *("قيء", "[أايتن]?تقي[أؤا]", "[أايتن]?ستفر[غا]", "غثيان", "[إا]غماء", "[أاي]غم[يى]", r"وعيي?\b"),
    *(
        "دوخة",
        "دايخ",
        r"دوار\b(?! الشمس)",
        "م?شوش",
        "تشوش",
        "زغلل",
        "مت?ورم",
        "وارم",
        "تورم",
        "انتفاخ",
        "منتفخ",
    ),
    *("بول", "حساسية", "طفح", r"حكة\b", "[إا]سهال", "نسيت(?! كلمة)"),
    *("آلمن", r"صدري\b", r"في (?:ال)?صدر\b", "خفقان", "[إا]جهاض", "[أا]جهض", "تشنج", "تقلصات"),
    *("لم [أا](?:حقن|تناول)", "(?:لم|ما) (?:[أآا]خذ|حقن|تناول)ت?", "فاتتني (?:ال)?(?:جرع|[إا]بر|حقن|حب)"),
    "[أا]خط[أا]ت في (?:ال)?(?:جرع|دواء|حقن|[إا]بر)",
    r"(?:[أا]خذت|حقنت|تناولت)[^.?!]{0,25} (?:مرتين\b(?! (?:في|باليوم|يوميا))|جرعتين)",
    "(?:[أا]خذت|حقنت|تناولت) (?:ال)?(?:جرع|دواء|حقن|[إا]بر|حب)[^.?!]{0,20} مت[أا]خر",
    "ت[أا]خرت (?:في|عن) [^.?!]{0,15}(?:جرع|دواء|حقن|[إا]بر)",
    *("جرعة (?:ال)?(?:خاطئ|خط[أا]|مضاعف|زائد)", "دواء (?:ال)?خط[أا]", "طوارئ", "إسعاف"),
    *("س?[أايتن]?نتح[را]", "س?[أا]موت", "لا [أا]ريد (?:[أا]ن )?(?:[أا]عيش|العيش)"),
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
