"""Labels for protocols."""

from __future__ import annotations

from flask import Blueprint

from portal.i18n.gettext import _
from portal.services.protocols import ProtocolStatus
from portal.web.choice_names import choice_name

ENDS = (ProtocolStatus.COMPLETED, ProtocolStatus.CANCELLED)
"""Final statuses."""


def register(bp: Blueprint) -> None:
    for name, filter_ in (("protocol_tone", status_tone), ("protocol_step", step_word)):
        bp.add_app_template_filter(filter_, name)


def status_tone(status: ProtocolStatus) -> str:
    tones = {
        ProtocolStatus.DRAFT: "info",
        ProtocolStatus.ACTIVE: "accent",
        ProtocolStatus.ON_HOLD: "attention",
        ProtocolStatus.COMPLETED: "success",
    }
    return tones.get(status, "neutral")


def step_word(status: ProtocolStatus, now: ProtocolStatus) -> str:
    if status == ProtocolStatus.ACTIVE:
        return _("Resume") if now == ProtocolStatus.ON_HOLD else _("Activate")
    names = {
        ProtocolStatus.ON_HOLD: _("Put on hold"),
        ProtocolStatus.COMPLETED: _("Complete"),
        ProtocolStatus.CANCELLED: _("Cancel protocol"),
    }
    return names.get(status) or choice_name(status)
