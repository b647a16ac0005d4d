"""Calls to the care API as each of the sample people, over HTTP, and the forms that tests make for themselves."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any, ClassVar

import jsonschema_rs
import requests

from portal.careservice.ids import new_id, sample_id

_RENEWED_AFTER = 300.0
"""Seconds after which a service client's token is got anew; the service's own last ten minutes."""


class Api:
    """The care API of a running service; `who` is a sample person's user name, or a service client's id."""

    def __init__(self, service: Any) -> None:
        self._service = service
        self.base_url: str = service.base_url
        self._session = requests.Session()
        self._session.trust_env = False
        self._tokens: dict[str, tuple[float, str]] = {}

    def __call__(
        self,
        who: str | None,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        raw: bytes | None = None,
        **query: Any,
    ) -> requests.Response:
        """One call; `body` goes as JSON, `raw` as it is."""
        sent = dict(headers or {})
        if who is not None:
            sent.setdefault("Authorization", f"Bearer {self.token(who)}")
        return self._session.request(
            method,
            self._service.base_url + path,
            params=query,
            json=body,
            data=raw,
            headers=sent,
            allow_redirects=False,
            timeout=10,
        )

    def token(self, who: str) -> str:
        """An access token of a person, or of a service client (`riverside-service`)."""
        clinic = who.removesuffix("-service")
        if clinic == who:
            return str(self._service.token(who))
        until, token = self._tokens.get(who, (0.0, ""))
        if time.monotonic() >= until:
            token = str(self._service.service_token(clinic))
            self._tokens[who] = (time.monotonic() + _RENEWED_AFTER, token)
        return token

    def get(self, who: str, path: str, **query: Any) -> Any:
        """The body of a GET that has to work."""
        answer = self(who, "GET", path, **query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def close(self) -> None:
        """Let go of the connections."""
        self._session.close()


class CheckedApi(Api):
    """The same, and each answer of an endpoint is held against the service's OpenAPI document."""

    _documents: ClassVar[dict[str, Any]] = {}
    _validators: ClassVar[dict[tuple[str, str, int], Any]] = {}

    def __call__(self, who: str | None, method: str, path: str, *args: Any, **more: Any) -> requests.Response:
        answer = super().__call__(who, method, path, *args, **more)
        operation = self._operation(method, path.partition("?")[0])
        if operation is not None and operation["security"] != [{"webhookSignature": []}]:
            self._check(answer, operation)
        return answer

    def _check(self, answer: requests.Response, operation: dict[str, Any]) -> None:
        told = operation["responses"].get(str(answer.status_code))
        assert told, f"{operation['operationId']} doesn't document {answer.status_code}"
        media_type = answer.headers.get("Content-Type", "").partition(";")[0]
        if media_type == "application/json" and "application/json" in told.get("content", {}):
            schema = told["content"]["application/json"]["schema"]
            key = (self.base_url, operation["operationId"], answer.status_code)
            if key not in self._validators:
                whole = {**schema, "components": self.document["components"]}
                self._validators[key] = jsonschema_rs.validator_for(whole, validate_formats=True)
            self._validators[key].validate(answer.json())
        elif "content" in told:
            assert answer.content == b"" or "*/*" in told["content"]

    @property
    def document(self) -> dict[str, Any]:
        """The service's OpenAPI document."""
        if self.base_url not in self._documents:
            self._documents[self.base_url] = super().__call__(None, "GET", "/openapi.json").json()
        return self._documents[self.base_url]

    def _operation(self, method: str, path: str) -> dict[str, Any] | None:
        for known, item in self.document["paths"].items():
            if re.fullmatch(re.sub(r"{\w+}", "[^/]+", known), path) and method.lower() in item:
                return item[method.lower()]
        return None


CONSENTS = "/api/care/consent-forms"
EPISODES = "/api/patient-portal/episodes"
AMELIA_EPISODE = sample_id("episode", "amelia-1")
GRACE_EPISODE = sample_id("episode", "grace-2")


STAFF_ROLES = ("Witness", "Interpreter", "Clinician")


def person(name: str) -> str:
    """The `sub` of a sample person."""
    return sample_id("person", name)


def patient(name: str) -> str:
    """The id of a sample patient's record."""
    return sample_id("patient", name)


def signer(role: str, name: str, order: int = 1) -> dict[str, Any]:
    """A signer, as a new form names one."""
    return {"role": role, "personId": person(name), "name": name.title(), "order": order}


def form(**changes: Any) -> dict[str, Any]:
    """A new form that Amelia and Daniel sign in any order, of a title that no other has."""
    return {
        "patientId": patient("amelia"),
        "partnerId": patient("daniel"),
        "episodeId": AMELIA_EPISODE,
        "title": f"Consent to test {new_id()[:8]}",
        "kind": "Treatment",
        "version": "1.0",
        "body": [
            {"id": "a", "heading": "What", "text": "The whole text.", "summary": "Short."},
            {"id": "b", "heading": "How", "text": "More of it."},
        ],
        "statements": [{"id": "s1", "text": "I have read it."}, {"id": "s2", "text": "I agree."}],
        "requiredSigners": [signer("Patient", "amelia"), signer("Partner", "daniel", 2)],
        "signingOrder": "Any",
        **changes,
    }


def created(api: Api, **changes: Any) -> dict[str, Any]:
    """A form made by the nurse for the purpose of a test."""
    answer = api("nora", "POST", CONSENTS, form(**changes))
    assert answer.status_code == 200, answer.text
    return answer.json()


def signature(consent: Mapping[str, Any], role: str = "Patient", **changes: Any) -> dict[str, Any]:
    """What signing a form says."""
    return {
        "signerRole": role,
        "method": "TypedName",
        "signature": next(
            (signer["name"] for signer in consent["requiredSigners"] if signer["role"] == role.title()),
            consent["patientName"],
        ),
        "acknowledgedStatementIds": []
        if role in STAFF_ROLES
        else [statement["id"] for statement in consent["statements"]],
        "contentHash": consent["contentHash"],
        "language": "en",
        "concurrencyStamp": consent["concurrencyStamp"],
        **changes,
    }


def sign(
    api: Api, who: str, consent: Mapping[str, Any], role: str = "Patient", **changes: Any
) -> requests.Response:
    """Sign a form."""
    return api(who, "POST", f"{CONSENTS}/{consent['id']}/sign", signature(consent, role, **changes))


def revoke(api: Api, who: str, consent: Mapping[str, Any], **changes: Any) -> requests.Response:
    """Revoke a form."""
    body = {"reason": "I changed my mind.", "concurrencyStamp": consent["concurrencyStamp"], **changes}
    return api(who, "POST", f"{CONSENTS}/{consent['id']}/revoke", body)


def code(answer: requests.Response) -> str:
    """The rule that a 403 names."""
    assert answer.status_code == 403, answer.text
    return str(answer.json()["error"]["code"])


def members(answer: requests.Response) -> list[str]:
    """The members that a 400 names."""
    assert answer.status_code == 400, answer.text
    return [member for error in answer.json()["error"]["validationErrors"] for member in error["members"]]
