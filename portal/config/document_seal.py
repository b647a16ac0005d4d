"""The certificate and key that a clinic's PDF documents are sealed with, as the tenants file names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SETTINGS = ("certificate", "key_file")


@dataclass(frozen=True, slots=True)
class DocumentSeal:
    """Absolute paths of the certificate and private key. Neither is opened here: workers hold no keys."""

    certificate: Path
    key_file: Path


def read_document_seal(table: Mapping[str, object], where: str) -> tuple[DocumentSeal | None, list[str]]:
    """Return the seal, or None, with one fault for each error; `where` names the table in them.

    Missing or unusable files aren't faults: documents are then made unsealed.
    """
    faults = [f"{where}.{name}: isn't a setting of a seal" for name in sorted(table.keys() - set(SETTINGS))]
    paths: list[Path] = []
    for name in SETTINGS:
        value = table.get(name)
        if isinstance(value, str) and Path(value).is_absolute() and "\0" not in value:
            paths.append(Path(value))
        else:
            said = (
                "is missing"
                if value is None
                else f"must be the absolute path of a PEM file (found {value!r})"
            )
            faults.append(f"{where}.{name}: {said}")
    return (None if faults else DocumentSeal(*paths)), faults
