"""Names under which browsers save files (RFC 6266): safe on every operating system, with the media type's extension."""

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
"""The extensions allowed for a media type; the first is added to a name that has none of them."""

_OTHERS = (
    "bin", "doc", "docx", "odt", "rtf", "xls", "xlsx", "ods", "csv", "ppt", "pptx", "odp", "dcm", "heic", "heif",
    "tif", "tiff", "gif", "bmp", "webp", "mp3", "m4a", "wav", "mp4", "mov", "txt", "eml", "ics", "vcf", "json",
    "xml", "zip",
)  # fmt: skip
"""Extensions allowed for other media types: no system executes such a file when it is opened."""

_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$)(?=\.|$)", re.IGNORECASE)
"""Names that Windows reserves for devices, with any extension."""

_REFUSED = re.compile(r'[<>:"|?*%;]')
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def file_name(name: str, media_type: str) -> str:
    """Return a safe name of at most 150 characters with an extension of the media type; empty if `name` is.

    Removes folders, control characters, bidirectional marks, and names and characters that are special to some system.
    """
    return _with_extension(_cleaned(normalized("NFKC", name[:_LONGEST_GIVEN])), media_type)


def disposition(name: str, media_type: str, *, is_saved: bool) -> str:
    """Return a Content-Disposition header with the file's name (RFC 6266), and with an ASCII name for old clients."""
    kind, safe_name = "attachment" if is_saved else "inline", file_name(name, media_type)
    if not safe_name:
        return kind
    # Removing accents can produce characters or a name that must be cleaned again.
    stem, _dot, extension = safe_name.rpartition(".")
    ascii_stem = _cleaned(normalized("NFKD", stem).encode("ascii", "ignore").decode())
    ascii_name = _with_extension(f"{ascii_stem or 'file'}.{extension}", media_type)
    return f"{kind}; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(safe_name, safe='')}"


def _cleaned(name: str) -> str:
    base = re.split(r"[/\\]", name)[-1]
    visible = "".join(character for character in base if unicodedata.category(character) not in _HIDDEN)
    return _REFUSED.sub("_", visible).strip(" .")


def _with_extension(name: str, media_type: str) -> str:
    """Return the name with an extension of the media type; a second extension after it, such as `.lnk`, is removed."""
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
