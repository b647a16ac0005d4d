"""The real care service behind a proxy that answers as another implementation of the same API might.

A small HTTP proxy on this machine. It forwards every call, and rewrites what comes back within what the
specification leaves open: how lists, enumerations, times, files, failures and the answers to acts look.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

from portal.demo.stack import tenants_file
from tests.support.proxy import Proxy, body_of
from tests.support.stack import CareService, PortalThread

SECRET_WORDS = "Zugriff verweigert durch Regel 4711 in Modul Kern"
"""In the message of every failure: no page may ever show it."""

CARE_STATUS = "Planned Waitlist Active OnHold Finished Cancelled EnteredInError"
CONSENT_STATUS = "Draft Pending PartiallySigned Signed Revoked Expired Superseded"
CONSENT_KIND = (
    "Treatment Storage StorageRenewal Disposition GeneticTesting Donation Surrogacy LegalParenthood"
    " Disclosure Research"
)
SIGNER_ROLE = "Patient Partner GameteProvider Donor Surrogate IntendedParent Witness Interpreter Clinician"
STAGE = (
    "Planned Baseline Stimulation Trigger Retrieval Fertilisation Culture Biopsy Freeze Transfer LutealSupport"
    " PregnancyTest EarlyScan Ended"
)
OUTCOME = "Pregnancy NoPregnancy NoTransfer Cancelled Completed EnteredInError"
PROTOCOL_TYPE = (
    "Antagonist LongAgonist ShortFlare Ppos MildStimulation NaturalCycle FetNatural FetMedicated Iui EggFreezing"
    " DonorCycle"
)
PGT_CALL = (
    "Euploid LowMosaic HighMosaic Aneuploid Segmental NoResult Inconclusive Unaffected Carrier Affected Balanced"
    " Unbalanced"
)
PGT_STATUS = "Ordered InLab Reported Released Amended"
RELATIONSHIP = (
    "Partner Spouse EggDonor SpermDonor EmbryoDonor GestationalCarrier IntendedParent EmergencyContact Proxy"
)
CHANNEL = "Portal Email Sms Phone"
SEVERITY = "Info Success Warning Urgent"

Shape = Mapping[str, Any]
"""What stands in a record: the names of an enumeration in its integer order, or the shape of a record within."""

PROTOCOL: Shape = {"type": PROTOCOL_TYPE, "status": "Draft Active OnHold Completed Cancelled"}
PATIENT: Shape = {"preferredChannel": CHANNEL}
CASE: Shape = {"status": CARE_STATUS}
EMBRYO: Shape = {
    "status": "Stored Reserved OnHold Thawed Transferred Discarded Donated ShippedOut",
    "disposition": "Undecided ContinueStorage Discard DonateResearch DonatePatient Transport",
}
PGT_RESULT: Shape = {"testType": "PgtA PgtM PgtSr PgtP", "status": PGT_STATUS, "call": PGT_CALL}
CONSENT: Shape = {
    "status": CONSENT_STATUS,
    "kind": CONSENT_KIND,
    "signingOrder": "Any Sequential",
    "requiredSigners": {"role": SIGNER_ROLE},
    "signatures": {"role": SIGNER_ROLE, "method": "TypedName Drawn Paper"},
}
MESSAGE: Shape = {"side": "Inbound Outbound", "channel": CHANNEL}
EPISODE: Shape = {
    "type": PROTOCOL_TYPE,
    "status": CARE_STATUS,
    "stage": STAGE,
    "outcome": OUTCOME,
    "patient": PATIENT,
    "partner": PATIENT,
    "case": CASE,
    "protocol": PROTOCOL,
    "embryos": EMBRYO,
    "pgtResults": PGT_RESULT,
    "consentForms": {"kind": CONSENT_KIND, "status": CONSENT_STATUS},
    "relationships": {"type": RELATIONSHIP},
    "timeline": {"stage": STAGE},
    "alerts": {"severity": SEVERITY},
}
SHAPES: tuple[tuple[str, Shape], ...] = (
    (r"/api/care/consent-forms", CONSENT),
    (r"/api/care/fertility-protocols", PROTOCOL),
    (r"/api/care/patients", PATIENT),
    (r"/api/care/cases", CASE),
    (r"/api/care/embryo-storage", EMBRYO),
    (r"/api/care/pgt-results", PGT_RESULT),
    (r"/api/patient-portal/episodes", EPISODE),
    (r"/api/app/messaging", MESSAGE),
    (r"/api/messaging/getconversations", {"channel": CHANNEL, "messages": MESSAGE}),
    (r"/api/app/notification$", {"severity": SEVERITY}),
    (r"/api/prospect", {"status": "New Contacted Qualified WindowBooked Converted Lost Merged"}),
)
UNKNOWN = {
    "extraProperties": {},
    "isDeleted": False,
    "tenantKey": None,
    "links": [{"rel": "self", "n": 1e300}],
}

Change = Callable[[str, str, Any], Any]
"""What a test makes of an answer: method, path, the JSON as it would go out."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the API answers. The defaults change nothing."""

    enumerations: str = "names"  # integers, snake
    lists: str = "counted"  # items, array
    acts: str = "state"  # empty (200), none (204)
    times: str = "zoned"  # bare
    files: str = "bytes"  # base64
    errors: str = "abp"  # problem, oauth, html, empty
    stale: int = 403  # 409, 412
    adds_unknown: bool = False
    drops_nulls: bool = False
    keeps_etags: bool = True
    knows_operations: bool = True
    not_offered: str = r"(?!)"
    """Addresses ("GET /api/…", a pattern) answered by 501."""
    file_name: str | None = None
    """What every file is called."""
    change: Change | None = None


DOTNET = Dialect(
    enumerations="integers",
    lists="array",
    acts="empty",
    times="bare",
    files="base64",
    errors="problem",
    stale=409,
    adds_unknown=True,
    drops_nulls=True,
    keeps_etags=False,
    knows_operations=False,
)
"""Numbers and bare arrays, as a service without conventions of its own gives them."""

SNAKES = Dialect(
    enumerations="snake",
    lists="items",
    acts="none",
    times="bare",
    errors="oauth",
    stale=412,
    keeps_etags=False,
    knows_operations=False,
)
"""Names with underscores, lists that aren't counted, and 204 for every act."""


class DialectProxy(Proxy):
    """Stands at `base_url` in front of the care service at `service`, and speaks `dialect`."""

    def __init__(self, service: str, dialect: Dialect) -> None:
        self.dialect = dialect
        super().__init__(service)

    @contextmanager
    def speaking(self, **changes: Any) -> Iterator[None]:
        """Speak otherwise for a while."""
        usual = self.dialect
        self.dialect = replace(usual, **changes)
        try:
            yield
        finally:
            self.dialect = usual

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        dialect = self.dialect
        sent = body_of(handler)
        path = urlsplit(handler.path).path
        if re.fullmatch(dialect.not_offered, f"{handler.command} {path}"):
            status, headers, body = 501, {}, b""
        else:
            status, headers, body = self._passed_on(handler, sent)
        if status >= 400:
            status, media_type, body = _failure(status, body, dialect)
            headers = {k: v for k, v in headers.items() if k == "www-authenticate"}
            headers["content-type"] = media_type
        elif path.endswith("/file-descriptor/content"):
            if dialect.file_name:
                headers["content-disposition"] = f'attachment; filename="{dialect.file_name}"'
            if dialect.files == "base64":
                body = json.dumps(base64.b64encode(body).decode()).encode()
                headers = {"content-type": "application/json; charset=utf-8"}
        elif status == 200 and body:
            body = json.dumps(said(handler.command, path, json.loads(body), dialect)).encode()
        if handler.command != "GET" and status < 300 and dialect.acts != "state":
            status, body = (200 if dialect.acts == "empty" else 204), b""
        if not dialect.keeps_etags:
            headers.pop("etag", None)
        self.end(handler, path, status, headers, body)

    def _passed_on(self, handler: BaseHTTPRequestHandler, sent: bytes) -> tuple[int, dict[str, str], bytes]:
        left_out = {*_OF_ONE_HOP, "accept-encoding"}
        if not self.dialect.knows_operations:
            left_out.add("idempotency-key")
        if not self.dialect.keeps_etags:
            left_out |= {"if-none-match"}
        if self.dialect.files == "base64":
            left_out |= {"range"}
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in left_out}
        status, given, body = self.forward(handler.command, handler.path, headers, sent or None)
        return status, {k: v for k, v in given.items() if k not in _OF_ONE_HOP}, body


_OF_ONE_HOP = {"connection", "content-length", "transfer-encoding", "server", "date", "keep-alive", "host"}


def portal_behind(service: CareService, proxy: DialectProxy) -> PortalThread:
    """The portal, whose care API is the proxy; people sign in at the service itself."""
    tenants = service.plan.data / f"behind-{proxy.server.server_port}.toml"
    own, others = (f'base_url = "{address}"' for address in (service.base_url, proxy.base_url))
    tenants.write_text(tenants_file(service.plan).replace(own, others))
    return PortalThread(service.plan, PORTAL_TENANTS=str(tenants))


def _failure(status: int, body: bytes, dialect: Dialect) -> tuple[int, str, bytes]:
    """The same failure in the dialect's own form: status, media type, body."""
    error: dict[str, Any] = json.loads(body).get("error", {}) if body[:1] == b"{" else {}
    code = str(error.get("code") or "")
    if code.endswith("ConcurrencyConflict"):
        status = dialect.stale
    named = [name for fault in error.get("validationErrors") or [] for name in fault.get("members", [])]
    match dialect.errors:
        case "problem":
            problem = {"type": "about:blank", "title": SECRET_WORDS, "status": status, "detail": SECRET_WORDS}
            problem |= {"code": code} if code else {}
            problem |= {"errors": {name: [SECRET_WORDS] for name in named}} if named else {}
            return status, "application/problem+json", json.dumps(problem).encode()
        case "oauth" if code or status == 401:
            told = {"error": code or "invalid_token", "error_description": SECRET_WORDS}
            return status, "application/json", json.dumps(told).encode()
        case "html":
            return status, "text/html", f"<html><h1>{status}</h1><p>{SECRET_WORDS}</p></html>".encode()
        case "empty" | "oauth":
            return status, "application/json", b""
        case _:
            if error:
                body = json.dumps(
                    {"error": {**error, "message": SECRET_WORDS, "details": SECRET_WORDS}}
                ).encode()
            return status, "application/json", body


def said(method: str, path: str, answer: Any, dialect: Dialect) -> Any:
    """What the service answered, in the dialect's own form."""
    shape = next((shape for pattern, shape in SHAPES if re.match(pattern, path)), {})
    if method == "GET" and isinstance(answer, dict) and "items" in answer and "totalCount" in answer:
        items = [_value(item, shape, dialect) for item in answer["items"]]
        match dialect.lists:
            case "array":
                answer = items
            case "items":
                answer = {**answer, "items": items}
                del answer["totalCount"]
            case _:
                answer = {**answer, "items": items}
    else:
        answer = _value(answer, shape, dialect)
    return dialect.change(method, path, answer) if dialect.change else answer


def _value(value: Any, shape: Any, dialect: Dialect) -> Any:
    if isinstance(value, list):
        return [_value(item, shape, dialect) for item in value]
    if isinstance(value, dict):
        members = {
            name: _value(member, shape.get(name, {}) if isinstance(shape, Mapping) else {}, dialect)
            for name, member in value.items()
            if not (dialect.drops_nulls and member is None)
        }
        return {**UNKNOWN, **members} if dialect.adds_unknown else members
    if isinstance(value, str) and isinstance(shape, str):
        return _choice(value, shape.split(), dialect.enumerations)
    if isinstance(value, str) and dialect.times == "bare":
        return _bare_time(value)
    return value


def _choice(name: str, names: list[str], form: str) -> str | int:
    if form == "integers":
        return names.index(name) if name in names else name
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() if form == "snake" else name


def _bare_time(text: str) -> str:
    """An instant in UTC without saying so, with seven digits of its second; any other text as it is."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", text):
        return text
    at = datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
    return at.isoformat(timespec="microseconds") + "0"
