"""The names under which browsers save files (RFC 6266), safe on every system and true to what the file is."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

from portal.folding import normalized

_LONGEST = 150
_LONGEST_GIVEN = 1000
_EXTENSIONS = {
    "application/pdf": ("pdf",),
    "image/png": ("png",),
    "image/jpeg": ("jpg", "jpeg"),
    "text/plain": ("txt", "csv"),
}
"""The first is given to a name that has none of them."""

_OTHERS = (
    "bin", "doc", "docx", "odt", "rtf", "xls", "xlsx", "ods", "csv", "ppt", "pptx", "odp", "dcm", "heic", "heif",
    "tif", "tiff", "gif", "bmp", "webp", "mp3", "m4a", "wav", "mp4", "mov", "txt", "eml", "ics", "vcf", "json",
    "xml", "zip",
)  # fmt: skip
"""What a file of another type may be called: none of them is run when it is opened."""

_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$)(?=\.|$)", re.IGNORECASE)
"""Names that Windows reads as devices, whatever their extension."""

_REFUSED = re.compile(r'[<>:"|?*%;]')
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def file_name(name: str, media_type: str) -> str:
    """Return a name of at most 150 characters for a file of this type; empty for none.

    Without folders, control characters, marks that turn the text around them, and names and signs that systems read as
    something else. Its extension is one of the type's.
    """
    return _tied(_cleaned(normalized("NFKC", name[:_LONGEST_GIVEN])), media_type)


def disposition(name: str, media_type: str, *, is_saved: bool) -> str:
    """Return Content-Disposition with the file's name (RFC 6266), also in ASCII for those who need that."""
    way, given = "attachment" if is_saved else "inline", file_name(name, media_type)
    if not given:
        return way
    # Without its accents, a name may be another one that needs cleaning.
    stem, _dot, extension = given.rpartition(".")
    ascii_stem = _cleaned(normalized("NFKD", stem).encode("ascii", "ignore").decode())
    plain = _tied(f"{ascii_stem or 'file'}.{extension}", media_type)
    return f"{way}; filename=\"{plain}\"; filename*=UTF-8''{quote(given, safe='')}"


def _cleaned(name: str) -> str:
    base = re.split(r"[/\\]", name)[-1]
    visible = "".join(one for one in base if unicodedata.category(one) not in _HIDDEN)
    return _REFUSED.sub("_", visible).strip(" .")


def _tied(name: str, media_type: str) -> str:
    """The name with an extension of the type; what stands behind that, such as `.lnk`, is cut off."""
    if not name:
        return ""
    allowed = _EXTENSIONS.get(media_type, _OTHERS)
    stem, dot, last = name.rpartition(".")
    before, has_two, second = stem.rpartition(".")
    if dot and stem and last.lower() in allowed:
        extension = last
    elif dot and has_two and before and second.lower() in allowed:
        stem, extension = before, second
    else:
        stem, extension = name, allowed[0]
    stem = stem[: _LONGEST - len(extension) - 1].rstrip(" .") or "file"
    return f"_{stem}.{extension}" if _DEVICE.match(stem) else f"{stem}.{extension}"
