"""Shared by the baselines: the portal's template files, rendered with plain Jinja in each framework.

Records stay dictionaries, as decoded from JSON. No session, no checks, no audit: clinic, person and language are
hard-coded here. Each request builds the context of its page, as a view has to.
"""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

from flask import Flask, g, request, url_for
from flask_babel import Babel, format_date, get_locale, gettext
from jinja2 import Undefined
from markupsafe import Markup

ROOT = Path(__file__).parents[2]
TENANT = {
    "key": "riverside",
    "name": "Riverside Fertility",
    "logo": "riverside.svg",
    "accent": "#0b6e4f",
    "languages": ("en", "es", "ar"),
    "time_zone": ZoneInfo("Europe/London"),
}
_TONES = {"Signed": "success", "Pending": "attention", "PartiallySigned": "attention"}
ADDRESSES = {
    "consents.list": "/consents",
    "patients.list": "/patients",
    "consents.create.choose": "/consents/new",
    "consents.show": "/consents/<consent_id>",
    "conversations.inbox": "/conversations",
    "devices.index": "/me/devices",
    "home.show": "/",
    "episodes.index": "/episodes",
    "find.find": "/find",
    "language.choose": "/language",
    "me.show": "/me",
    "notifications.index": "/notifications",
    "open_by_id.show": "/open",
    "sign_in.sign_out": "/sign-out",
}
"""The addresses that the page and its frame link to, by endpoint."""


def make_app(name: str) -> Flask:
    """Return a Flask application that can render the portal's templates."""
    app = Flask(name, template_folder=str(ROOT / "templates"), static_folder=None)
    app.config["SECRET_KEY"] = "bench"
    app.config["BABEL_TRANSLATION_DIRECTORIES"] = str(ROOT / "portal" / "i18n" / "translations")
    # gunicorn.conf.py asks the application for its clinics.
    app.extensions["portal"] = SimpleNamespace(settings=SimpleNamespace(tenants=SimpleNamespace(by_key={})))
    Babel(app, locale_selector=lambda: request.accept_languages.best_match(TENANT["languages"]) or "en")
    prepare(app.jinja_env, nonce=_nonce, gettext=gettext, format_date=format_date)
    app.context_processor(_flask_frame)
    for endpoint, rule in ADDRESSES.items():
        app.add_url_rule(rule, endpoint, lambda **_: "")
    for tab in TABS:
        if tab != "consents":
            app.add_url_rule(f"/episodes/<episode_id>/{tab}", tab, lambda episode_id: "")
    return app


def prepare(
    env: Any, *, nonce: Callable[[], str], gettext: Callable[[str], str], format_date: Callable[..., str]
) -> None:
    """Prepare a Jinja environment to render the portal's templates."""
    env.trim_blocks = env.lstrip_blocks = True
    env.add_extension("jinja2.ext.do")
    env.globals.update(
        hx=partial(hx, nonce),
        nonce=nonce,
        csrf_field=lambda: Markup('<input type="hidden" name="csrf_token" value="bench">'),
        toasts=list,
        static=lambda name: f"/static/bench/{name}",
        now=lambda: datetime.datetime.now(UTC),
        today=datetime.date.today,
    )
    env.filters.update(
        day=lambda value: format_date(_date(value), "EEE d MMM"),
        date=lambda value: format_date(_date(value), "long"),
        care_status=lambda status: gettext("Under way") if status == "Active" else status,
        care_tone=lambda status: "accent" if status == "Active" else "neutral",
        in_a_row=lambda things, between=", ": between.join(things),
    )
    env.filters, env.tests = _Named(env.filters, str), _Named(env.tests, lambda value: False)
    env.undefined = _Nothing
    ui = env.globals["ui"] = SimpleNamespace()
    for file in sorted((ROOT / "templates" / "ui").glob("*.html")):
        for macro, value in vars(env.get_template(f"ui/{file.name}").module).items():
            if not macro.startswith("_") and callable(value):
                setattr(ui, macro, value)


TABS = {
    "overview": "Today",
    "timeline": "Timeline",
    "monitoring": "Monitoring",
    "medication": "Medicines",
    "appointments": "Appointments",
    "embryos": "Embryos",
    "documents": "Documents",
    "consents": "Consents",
    "team": "Care team",
}
_SECTIONS = (
    *(("/", "Worklist", "home", "h"), ("/consents", "Consents", "consent", "c")),
    *(("/protocols", "Protocols", "protocol", "p"), ("/care-team", "Care team", "people", "t")),
    *(("/conversations", "Messages", "message", "m"), ("/open", "Open by id", "open", "o")),
    ("/notifications", "Notifications", "bell", "n"),
    ("/notifications/settings", "Notification settings", "settings", "s"),
)


class _Named(dict[str, Any]):
    """Accepts filters and tests used only by other pages, which Jinja looks up when it compiles a file."""

    def __init__(self, known: Mapping[str, Any], other: Any) -> None:
        super().__init__(known)
        self._other = other

    def __missing__(self, name: str) -> Any:
        return self._other

    def get(self, name: str, default: Any = None) -> Any:
        return self[name]


class _Nothing(Undefined):
    """Stands for variables that the page frame reads but this page doesn't need, such as text typed before a session ended."""

    def __call__(self, *args: Any, **named: Any) -> Undefined:
        return self

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def page(
    episode: Mapping[str, Any],
    forms: Mapping[str, Any],
    gettext: Callable[[str], str] = gettext,
    url_for: Callable[..., str] = url_for,
    format_date: Callable[..., str] = format_date,
) -> dict[str, Any]:
    """The context of an episode's consents page, from the two responses."""
    read = {form["id"]: form for form in forms["items"]}

    def about(id_: str) -> str:
        day = read[id_]["procedureDate"] if id_ in read else None
        return gettext("Procedure on %(day)s") % {"day": format_date(_date(day), "EEE d MMM")} if day else ""

    rows = [
        {
            "id": brief["id"],
            "title": brief["title"],
            "status": gettext(brief["status"]),
            "tone": _TONES.get(brief["status"], "neutral"),
            "is_mine_to_sign": False,
            "about": about(brief["id"]),
        }
        for brief in episode["consentForms"]
    ]
    counts = {"appointments": len(episode["appointments"]), "consents": len(rows)}
    tabs = [
        {
            "label": gettext(label),
            "href": url_for(name, episode_id=episode["id"]),
            "current": name == "consents",
            "is_tab": True,
            "count": counts.get(name, 0),
        }
        for name, label in TABS.items()
    ]
    view = {
        "heading": episode["patient"]["fullName"],
        "title": gettext("Antagonist protocol"),
        "day_note": None,
    }
    return {
        "forms": rows,
        "view": view,
        "episode": {**episode, "is_ended": False},
        "tabs": tabs,
        "tab": {"label": gettext("Consents")},
        "is_part": False,
    }


def _flask_frame() -> dict[str, Any]:
    return frame(request.path, request.full_path, str(get_locale()), _nonce, gettext)


def frame(
    path: str, here: str, locale: str, nonce: Callable[[], str], gettext: Callable[[str], str]
) -> dict[str, Any]:
    """The context of the page frame."""
    person = SimpleNamespace(
        name="Nora Quinn", given_name="Nora", side="staff", is_staff=True, roles=["nurse"], sub="nora"
    )
    nav = [
        {"href": href, "label": gettext(label), "icon": icon, "key": key, "current": path == href, "count": 0}
        for href, label, icon, key in _SECTIONS
    ]  # fmt: skip
    return {
        "tenant": TENANT,
        "person": person,
        "locale": locale,
        "direction": "ltr",
        "here": here,
        "languages": [{"code": "en", "name": "English"}, {"code": "es", "name": "Español"}, {"code": "ar", "name": "العربية"}],
        "nav": nav,
        "unread_count": 1,
        "bell_htmx": hx(nonce, get="/notifications/bell?known=1", trigger="portal:look from:document", target="#bell"),
        "session_lasts": 1800,
    }  # fmt: skip


def hx(own_nonce: Callable[[], str], /, **given: Any) -> Markup:
    """An element's htmx attributes, with the response's nonce."""
    pairs = [(name.replace("_", "-"), value) for name, value in given.items() if value is not None]
    return Markup(" ").join(
        Markup('hx-{}="{}"').format(name, "true" if value is True else value)
        for name, value in [*pairs, ("nonce", own_nonce())]
    )


def _nonce() -> str:
    if "nonce" not in g:
        g.nonce = secrets.token_urlsafe(18)
    return g.nonce


def _date(value: Any) -> Any:
    return datetime.date.fromisoformat(value[:10]) if isinstance(value, str) else value
