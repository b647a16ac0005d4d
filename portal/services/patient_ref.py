"""Whom a record is about, as far as the record itself says."""

from __future__ import annotations

import msgspec


class PatientRef(msgspec.Struct, frozen=True):
    """A patient as a record names them.

    Without `patient_id` it is the patient of the episode; `name` is empty if the record doesn't say it, `one_of` then the names
    of those of whom one is the patient, as far as the record has them; `episode_id` is None if it belongs to no treatment.
    """

    patient_id: str | None
    name: str = ""
    episode_id: str | None = None
    one_of: tuple[str, ...] = ()
