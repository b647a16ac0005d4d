"""The parts of the portal that a clinic can switch off."""

from __future__ import annotations

from enum import StrEnum


class Module(StrEnum):
    """A part of the portal, by its name in the tenants file (`modules_off`)."""

    MEDICINES = "medicines"
    CHARTS = "charts"
    STORAGE = "storage"
    RESULTS = "results"
    BOOKING = "booking"


WHAT_ELSE = {
    Module.MEDICINES: "Home and Today show no doses, plans have no page, PDF or calendar file, changed plans aren't told, and "
    "staff aren't asked about hours between trigger and egg collection",
    Module.CHARTS: "scans and blood tests are shown nowhere, not even as a table",
    Module.STORAGE: "embryos are shown nowhere, so no date of their storage is told on Home, nobody states a wish, and "
    "staff can't name embryos in new consent forms",
    Module.RESULTS: "genetic tests are shown nowhere, so an embryo's tells nothing of one; files that hold results stay",
    Module.BOOKING: "enquiries can't be opened, booked or merged, and links for booking that were sent no longer work",
}
"""What else of the portal depends on a module: what `portal check` says of one that is off."""
