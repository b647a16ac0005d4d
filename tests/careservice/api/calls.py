"""Calls to the care API as each of the sample people, over HTTP, and the forms that tests make for themselves."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

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
