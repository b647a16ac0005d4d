"""The certificate and key that a clinic's PDF documents are sealed with, as the tenants file names them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portal.config.table import Source, setting


def _path(value: Any, source: Source) -> Path:
    if not isinstance(value, str) or not Path(value).is_absolute() or "\0" in value:
        raise ValueError(f"must be the absolute path of a PEM file (found {value!r})")
    return Path(value)


@dataclass(frozen=True, slots=True)
class DocumentSeal:
    """Absolute paths of the certificate and private key. Neither is opened here: workers hold no keys.

    Missing or unusable files aren't faults: documents are then made unsealed.
    """

    certificate: Path = setting(
        _path, "/etc/portal/seal/riverside.pem", "absolute paths; read whenever a copy is made"
    )
    key_file: Path = setting(_path, "/etc/portal/seal/riverside-key.pem")
