"""What every handler needs: whom it admits, the API as that person, and the answers that it gives."""

from __future__ import annotations

from portal.config.tenants import Side
from portal.services.client import Care
from portal.state.session_records import Person
from portal.web import audit
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast, wants
from portal.web.pages import Page

__all__ = ["Care", "Page", "Person", "Side", "audit", "redirect_to", "render", "signed_in", "toast", "wants"]
