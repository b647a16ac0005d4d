"""Names under which browsers save files (RFC 6266)."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote


def safe_name(name: str) -> str:
    """Return a file name without folders, control characters or marks that turn the text around them."""
    base = re.split(r"[/\\]", name)[-1]
    visible = "".join(c for c in base if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp"))
    return visible.strip(" .")[:150]


def disposition(name: str, *, is_saved: bool) -> str:
    """Return Content-Disposition for a name (RFC 6266), with a plain form for those who need one."""
    way = "attachment" if is_saved else "inline"
    if not name:
        return way
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r'["\\%;]', "_", plain)
    return f"{way}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
