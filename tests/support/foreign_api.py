"""The real care service behind names and forms of other APIs, each with the dialect file that an operator would write.

The proxies know nothing of the portal's dialects: they turn what the service says into another API's, and back, by
tables and patterns of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from portal.demo.stack import PEOPLE
from tests.support.dialect import SECRET_WORDS
from tests.support.foreign_format import Foreign, shape_of
from tests.support.proxy import Proxy, body_of
from tests.support.stack import CareService, free_port, plan

PASCAL = Foreign(
    name="pascal",
    style="pascal",
    renamed={"concurrencyStamp": "RowVersion", "embryos": "FrozenEmbryos"},
    instants="ms",
    etag=True,
    toml="""
concurrency = "etag"
[names]
members = "PascalCase"
[members]
concurrencyStamp = "RowVersion"
[members.Episode]
embryos = "FrozenEmbryos"
[envelopes]
answers = ["Result"]
sent = "Input"
[times]
instants = "epoch_ms"
""",
)
SNAKE = Foreign(
    name="snake",
    style="snake",
    renamed={
        "dateOfBirth": "birth_date",
        "alerts": "warnings",
        "holdReason": "on_hold_because",
        "title": "label",
    },
    instants="text",
    days="text",
    words=("Y", "N"),
    texts=True,
    parameters={
        "SkipCount": "page",
        "MaxResultCount": "per_page",
        "Sorting": "sorting",
        "Filter": "filter",
        "PatientId": "patient_id",
        "CaseId": "case_id",
        "EpisodeId": "episode_id",
        "Status": "status",
        "IncludeArchived": "include_archived",
        "IsRead": "is_read",
        "Type": "type",
        "From": "from",
        "To": "to",
        "LocationId": "location_id",
    },
    paged=True,
    toml="""
[names]
members = "snake_case"
query = "snake_case"
[members]
dateOfBirth = "birth_date"
alerts = "warnings"
holdReason = "on_hold_because"
[members.ConsentForm]
title = "label"
[members.Case]
title = "label"
[members.Notification]
title = "label"
[members.Physician]
title = "label"
[members.TimelineEvent]
title = "label"
[query]
SkipCount = "page"
MaxResultCount = "per_page"
[envelopes]
answers = ["data"]
[lists]
total = "meta.total"
unread = "meta.unread"
paging = "page"
[times]
instants = "dd/MM/yyyy HH:mm:ss"
days = "dd/MM/yyyy"
zone = "Asia/Tokyo"
[values]
numbers = "text"
booleans = ["Y", "N"]
""",
)
KEBAB = Foreign(
    name="kebab",
    style="kebab",
    base_path="/fertility/v3",
    care="/clinical",
    codes={
        "status.Stored": "IN_TANK",
        "status.Signed": 40,
        "status.Pending": 10,
        "role.Patient": "SUBJECT",
        "signerRole.Patient": "SUBJECT",
    },
    upper=True,
    bom=True,
    parameters={
        "SkipCount": "offset",
        "MaxResultCount": "limit",
        "Sorting": "order",
        "Filter": "q",
        "PatientId": "patient-id",
        "CaseId": "case-id",
        "EpisodeId": "episode-id",
        "Status": "status",
        "IncludeArchived": "include-archived",
        "IsRead": "is-read",
        "Type": "type",
        "From": "from",
        "To": "to",
        "LocationId": "location-id",
    },
    errors="problem",
    toml="""
base_path = "/fertility/v3"
bom = true
headers = { X-Client = "portal" }
[addresses]
"/api/care" = "/clinical"
[names]
members = "kebab-case"
query = "kebab-case"
enumerations = "UPPER_CASE"
[query]
SkipCount = "offset"
MaxResultCount = "limit"
Sorting = "order"
Filter = "q"
[lists]
items = "rows"
total = "count"
unread = "unread"
sorting = "-field"
[enumerations.ConsentStatus]
Signed = 40
Pending = 10
[enumerations.EmbryoStatus]
Stored = "IN_TANK"
[enumerations.SignerRole]
Patient = ["SUBJECT", "PATIENT"]
[errors]
code = "rule.number"
fields = "faults"
name = "at"
[errors.codes]
E9 = "ConcurrencyConflict"
E1 = "SyncRunning"
""",
)
FOREIGN = (PASCAL, SNAKE, KEBAB)


class ForeignApi(Proxy):
    """Stands at `base_url` in front of the care service at `service`, and uses another API's format."""

    def __init__(self, service: str, foreign: Foreign) -> None:
        self.foreign = foreign
        self.is_lenient = False
        """Whether wrong addresses are answered by 404, and unknown parameters passed over: the portal errs with neither."""
        super().__init__(service)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        foreign = self.foreign
        parts = urlsplit(handler.path)
        path = parts.path.removeprefix(foreign.base_path)
        is_known = parts.path.startswith(foreign.base_path) and (
            foreign.care == "/api/care" or not path.startswith("/api/care")
        )
        if not is_known:
            assert self.is_lenient, parts.path
            self.end(handler, parts.path, 404, {"content-type": "text/html"}, b"<h1>No such address</h1>")
            return
        if foreign.care != "/api/care":
            path = re.sub(rf"^{foreign.care}(?=/)", "/api/care", path)
        headers = {name: value for name, value in handler.headers.items() if name.lower() in _PASSED_ON}
        body = self._body(handler, path)
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        query = urlencode(foreign.query(pairs, path, is_lenient=self.is_lenient))
        status, given, answer = self.forward(
            handler.command, f"{path}?{query}" if query else path, headers, body
        )
        given = {name: value for name, value in given.items() if name in _PASSED_BACK}
        if status >= 400:
            given = {name: value for name, value in given.items() if name == "www-authenticate"}
            status, given["content-type"], answer = self._failure(status, answer)
        elif answer and "json" in given.get("content-type", ""):
            stamp, answer = self._answer(handler.command, path, json.loads(answer))
            given.pop("etag", None)
            if stamp:
                given["etag"] = f'"{stamp}"'
        self.end(handler, path, status, given, answer)

    def _body(self, handler: BaseHTTPRequestHandler, path: str) -> bytes | None:
        sent = body_of(handler)
        if self.foreign.name == "kebab":
            assert handler.headers["X-Client"] == "portal"
            assert not sent or sent.startswith(b"\xef\xbb\xbf")
        if not sent:
            return None
        value = json.loads(sent.decode("utf-8-sig"))
        if self.foreign.name == "pascal":
            assert set(value) == {"Input"}, value
            value = value["Input"]
        meant = self.foreign.meant(value, shape_of(path))
        if stamp := handler.headers.get("If-Match"):
            assert self.foreign.etag
            meant["concurrencyStamp"] = stamp.strip('"')
        return json.dumps(meant).encode()

    def _answer(self, method: str, path: str, value: Any) -> tuple[str | None, bytes]:
        foreign, stamp = self.foreign, None
        if foreign.etag and isinstance(value, dict) and "concurrencyStamp" in value:
            stamp = value.pop("concurrencyStamp")
        if isinstance(value, dict) and "totalCount" in value and "items" in value:
            rows = [foreign.said(one, shape_of(path)) for one in value["items"]]
            total, unread = (foreign.said(value.get(name), {}) for name in ("totalCount", "unreadCount"))
            match foreign.name:
                case "pascal":
                    told: Any = {"Result": {"Items": rows, "TotalCount": total, "UnreadCount": unread}}
                case "snake":
                    told = {"data": rows, "meta": {"total": total, "unread": unread}}
                case _:
                    told = {"rows": rows, "count": total, "unread": unread}
        else:
            told = foreign.said(value, shape_of(path))
            envelope = {"pascal": "Result", "snake": "data"}.get(foreign.name)
            told = {envelope: told} if envelope else told
        text = json.dumps(told)
        return stamp, text.encode("utf-8-sig" if foreign.bom else "utf-8")

    def _failure(self, status: int, body: bytes) -> tuple[int, str, bytes]:
        error: dict[str, Any] = json.loads(body).get("error", {}) if body[:1] == b"{" else {}
        code = str(error.get("code") or "").rpartition(":")[2]
        if code == "ConcurrencyConflict" and self.foreign.etag:
            return 412, "text/html", b"<h1>Precondition failed</h1>"
        if self.foreign.errors != "problem":
            told = {"error": {**error, "message": SECRET_WORDS}} if error else None
            return status, "application/json", json.dumps(told).encode() if told else b""
        named = [name for fault in error.get("validationErrors") or [] for name in fault.get("members", [])]
        number = {"ConcurrencyConflict": "E9", "SyncRunning": "E1"}.get(code, code)
        problem: dict[str, Any] = {"type": "about:blank", "title": SECRET_WORDS, "status": status}
        problem |= {"rule": {"number": number}} if code else {}
        problem |= {"faults": [{"at": self.foreign.key(name)} for name in named]} if named else {}
        return status, "application/problem+json", json.dumps(problem).encode()


_PASSED_ON = {"authorization", "accept", "accept-language", "content-type", "x-correlation-id", "range"}
_PASSED_BACK = {"content-type", "content-disposition", "www-authenticate", "content-range", "accept-ranges"}


def service_for_all(folder: Path, ports: Mapping[str, int]) -> CareService:
    """The care service, which lets people sign in to a portal at each of these ports."""
    origins = [f"{tenant}=http://{tenant}.localhost:{port}" for tenant in PEOPLE for port in ports.values()]
    return CareService(plan(folder), *(option for one in origins for option in ("--portal-origin", one)))


def ports_for_all() -> dict[str, int]:
    """A free port for the portal before each API."""
    return {foreign.name: free_port() for foreign in FOREIGN}
