"""Numbers in words, so that nobody takes 5 for 5000: whole numbers below a billion (10⁹), and decimals digit by digit."""

from __future__ import annotations

from decimal import Decimal

from portal.i18n.locale import language

_DIGITS = 9
_EN_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_EN_TENS = ["-", "-", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ES_ONES = [
    "cero",
    "uno",
    "dos",
    "tres",
    "cuatro",
    "cinco",
    "seis",
    "siete",
    "ocho",
    "nueve",
    "diez",
    "once",
    "doce",
    "trece",
    "catorce",
    "quince",
    "dieciséis",
    "diecisiete",
    "dieciocho",
    "diecinueve",
    "veinte",
    "veintiuno",
    "veintidós",
    "veintitrés",
    "veinticuatro",
    "veinticinco",
    "veintiséis",
    "veintisiete",
    "veintiocho",
    "veintinueve",
]
_ES_TENS = ["-", "-", "-", "treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa"]
_ES_HUNDREDS = [
    "-",
    "ciento",
    "doscientos",
    "trescientos",
    "cuatrocientos",
    "quinientos",
    "seiscientos",
    "setecientos",
    "ochocientos",
    "novecientos",
]
_AR_ONES = [
    "صفر",
    "واحد",
    "اثنان",
    "ثلاثة",
    "أربعة",
    "خمسة",
    "ستة",
    "سبعة",
    "ثمانية",
    "تسعة",
    "عشرة",
    "أحد عشر",
    "اثنا عشر",
    "ثلاثة عشر",
    "أربعة عشر",
    "خمسة عشر",
    "ستة عشر",
    "سبعة عشر",
    "ثمانية عشر",
    "تسعة عشر",
]
_AR_TENS = ["-", "-", "عشرون", "ثلاثون", "أربعون", "خمسون", "ستون", "سبعون", "ثمانون", "تسعون"]
_AR_HUNDREDS = ["-", "مئة", "مئتان", "ثلاثمئة", "أربعمئة", "خمسمئة", "ستمئة", "سبعمئة", "ثمانمئة", "تسعمئة"]


def in_words(number: Decimal) -> str:
    """Return a number of 0 or more in the reader's language, such as `two point two five`; its digits where it is too long."""
    whole, _point, fraction = f"{number:f}".partition(".")
    fraction = fraction.rstrip("0")
    if len(whole) > _DIGITS or len(fraction) > _DIGITS or not whole.isdigit():
        return f"{number:f}"
    write = {"es": _spanish, "ar": _arabic}.get(language()[:2], _english)
    if not fraction:
        return write(int(whole))
    point = {"es": "coma", "ar": "فاصلة"}.get(language()[:2], "point")
    return " ".join((write(int(whole)), point, *(write(int(digit)) for digit in fraction)))


def _english(number: int) -> str:
    if number < 20:
        return _EN_ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _EN_TENS[tens] + (f"-{_EN_ONES[ones]}" if ones else "")
    for size, name, between in (
        (1_000_000, "million", " "),
        (1000, "thousand", " "),
        (100, "hundred", " and "),
    ):
        if number >= size:
            many, rest = divmod(number, size)
            joint = " and " if rest < 100 else between
            return f"{_english(many)} {name}" + (f"{joint}{_english(rest)}" if rest else "")
    raise AssertionError("unreachable")


def _spanish(number: int) -> str:
    if number < 30:
        return _ES_ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _ES_TENS[tens] + (f" y {_ES_ONES[ones]}" if ones else "")
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        return "cien" if number == 100 else _ES_HUNDREDS[hundreds] + (f" {_spanish(rest)}" if rest else "")
    size, one, more = (1_000_000, "un millón", "millones") if number >= 1_000_000 else (1000, "mil", "mil")
    many, rest = divmod(number, size)
    counted = _spanish(many)
    if counted.endswith("veintiuno"):
        counted = f"{counted[:-9]}veintiún"
    elif counted.endswith("uno"):
        counted = counted[:-1]
    return (one if many == 1 else f"{counted} {more}") + (f" {_spanish(rest)}" if rest else "")


def _arabic(number: int) -> str:
    if number < 20:
        return _AR_ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return f"{_AR_ONES[ones]} و{_AR_TENS[tens]}" if ones else _AR_TENS[tens]
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        return _AR_HUNDREDS[hundreds] + (f" و{_arabic(rest)}" if rest else "")
    size, one, two, few = (
        (1_000_000, "مليون", "مليونان", "ملايين") if number >= 1_000_000 else (1000, "ألف", "ألفان", "آلاف")
    )
    many, rest = divmod(number, size)
    if many == 1:
        counted = one
    elif many == 2:
        counted = two
    else:
        counted = f"{_arabic(many)} {few if 3 <= many <= 10 else one}"
    return counted + (f" و{_arabic(rest)}" if rest else "")
