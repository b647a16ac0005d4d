"""The OpenAPI 3.1 document at `/openapi.json`: the care API specification's 32 endpoints as this service has them.

Made from the endpoints' own types. Each operation names the section of the specification that it comes from;
what the specification doesn't show carries `x-assumed: true`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, cast

import msgspec
from flask import Response, current_app

from portal.careservice.api import (
    consents,
    conversations,
    documents,
    notifications,
    physicians,
    prospects,
    webhooks,
)
from portal.careservice.api import protocols as protocol_endpoints
from portal.careservice.api.endpoint import Declared, declared
from portal.careservice.api.errors import ErrorBody
from portal.careservice.api.paging import Sortable
from portal.careservice.api.payload import Stamped
from portal.careservice.domain import enumerations
from portal.careservice.domain.cases import CaseChange
from portal.careservice.domain.consents import NewForm, NewSignature
from portal.careservice.domain.embryos import EmbryoChange
from portal.careservice.domain.patients import PatientDetails
from portal.careservice.domain.permissions import ALLOWED, SERVICE_CLIENTS
from portal.careservice.domain.prospects import Window
from portal.careservice.domain.protocols import ProtocolPlan
from portal.careservice.settings import current_settings
from portal.careservice.webhooks.forms import PaymentEvent

Json = dict[str, Any]

_REF = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"<(?:\w+:)?\w+>|\{\w+\}")
_ID: Json = {"type": "string", "format": "uuid"}
_CODES: dict[str, tuple[int, ...]] = {
    "G1": (200, 400, 401, 403, 404, 500, 501),
    "G2": (200, 204, 400, 401, 403, 404, 500, 501),
    "G3": (200,),
    "G0": (),
}
"""The codes that the specification documents, by group of endpoints (its §4)."""
_MEANINGS = {
    200: "OK",
    204: "No Content: it is gone",
    206: "Partial Content: the range asked for",
    304: "Not Modified: If-None-Match names what there is",
    400: "Bad Request: malformed; `validationErrors` names the members",
    401: "Unauthorized: no good token",
    403: "Forbidden: empty where the permission is missing, else the rule that refuses, by `error.code`",
    404: "Not Found: absent, of another clinic, not this person's, or not released",
    413: "Content Too Large",
    416: "Range Not Satisfiable",
    500: "Internal Server Error",
    501: "Not Implemented: the clinic doesn't use this, or its own EMR keeps the record",
}


@dataclass(frozen=True, kw_only=True)
class Operation:
    """What the code doesn't say of an endpoint by itself: its purpose, codes, query and body."""

    purpose: str
    group: str
    query: tuple[Json, ...] = ()
    takes: Any = None
    stamped: bool = False
    body_required: bool = True


def _query(name: str, schema: Json, *, required: bool = False) -> Json:
    """A parameter of the query; an empty one counts as absent."""
    empty = {} if required else {"allowEmptyValue": True}
    return {"name": name, "in": "query", "required": required, **empty, "schema": schema, "x-assumed": True}


def _choice(kind: type[StrEnum]) -> Json:
    return {"anyOf": [{"enum": [word.value for word in kind]}, _place(kind)]}


def _place(kind: type[StrEnum]) -> Json:
    return {"type": "integer", "minimum": 0, "maximum": len(kind) - 1}


def _paging(sortable: Sortable) -> tuple[Json, ...]:
    field = f"({'|'.join(sortable)})( (asc|desc))?"
    return (
        _query("SkipCount", {"type": "integer", "minimum": 0, "maximum": 2**31 - 1, "default": 0}),
        _query("MaxResultCount", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10}),
        _query("Sorting", {"type": "string", "pattern": f"^{field}(,{field})?$"}),
        _query("Filter", {"type": "string", "pattern": r"^[^\u0000]*$"}),
    )


OPERATIONS: dict[tuple[str, str], Operation] = {
    ("GET", "/api/care/consent-forms"): Operation(
        purpose="list consent forms",
        group="G1",
        query=(
            *_paging(consents.SORTABLE),
            _query("PatientId", _ID),
            _query("CaseId", _ID),
            _query("EpisodeId", _ID),
            _query("Status", _choice(enumerations.ConsentStatus)),
        ),
    ),
    ("POST", "/api/care/consent-forms"): Operation(
        purpose="create a consent form", group="G0", takes=NewForm
    ),
    ("GET", "/api/care/consent-forms/{id}"): Operation(purpose="read one", group="G1"),
    ("POST", "/api/care/consent-forms/{id}/sign"): Operation(
        purpose="sign", group="G0", takes=NewSignature, stamped=True
    ),
    ("POST", "/api/care/consent-forms/{id}/revoke"): Operation(
        purpose="revoke", group="G0", takes=consents.Revocation, stamped=True
    ),
    ("GET", "/api/care/fertility-protocols"): Operation(
        purpose="list",
        group="G0",
        query=(
            *_paging(protocol_endpoints.SORTABLE),
            _query("PatientId", _ID),
            _query("EpisodeId", _ID),
            _query("Status", _choice(enumerations.ProtocolStatus)),
            _query("Type", _choice(enumerations.ProtocolType)),
        ),
    ),
    ("POST", "/api/care/fertility-protocols"): Operation(purpose="create", group="G0", takes=ProtocolPlan),
    ("GET", "/api/care/fertility-protocols/{id}"): Operation(purpose="read one", group="G0"),
    ("PUT", "/api/care/fertility-protocols/{id}"): Operation(
        purpose="update", group="G0", takes=ProtocolPlan, stamped=True
    ),
    ("PUT", "/api/care/patients/{id}"): Operation(
        purpose="update", group="G1", takes=PatientDetails, stamped=True
    ),
    ("PUT", "/api/care/cases/{id}"): Operation(purpose="update", group="G1", takes=CaseChange, stamped=True),
    ("DELETE", "/api/care/relationships/{id}"): Operation(purpose="delete", group="G2"),
    ("PUT", "/api/care/embryo-storage/{id}"): Operation(
        purpose="update", group="G1", takes=EmbryoChange, stamped=True
    ),
    ("GET", "/api/care/pgt-results/{id}"): Operation(purpose="read one", group="G1"),
    ("GET", "/api/patient-portal/episodes/{episodeId}"): Operation(purpose="read one episode", group="G1"),
    ("GET", "/api/calendar/resources/physicians"): Operation(
        purpose="list physicians as calendar resources",
        group="G1",
        query=(
            *_paging(physicians.SORTABLE),
            _query("From", {"type": "string", "format": "date-time"}),
            _query("To", {"type": "string", "format": "date-time"}),
            _query("LocationId", _ID),
        ),
    ),
    ("DELETE", "/api/emr-integration/endpoints/{id}"): Operation(purpose="delete", group="G2"),
    ("POST", "/api/document-management/directory-descriptor/move"): Operation(
        purpose="move a directory", group="G3", takes=documents.Move, stamped=True
    ),
    ("GET", "/api/file-management/file-descriptor/content"): Operation(
        purpose="fetch file content", group="G3", query=(_query("id", _ID, required=True),)
    ),
    ("POST", "/api/app/messaging/restore-message/{messageId}"): Operation(
        purpose="restore a message", group="G3"
    ),
    ("POST", "/api/app/messaging/archive-message/{messageId}"): Operation(
        purpose="archive a message", group="G3"
    ),
    ("GET", "/api/messaging/getconversations"): Operation(
        purpose="list conversations",
        group="G3",
        query=(*_paging(conversations.SORTABLE), _query("IncludeArchived", {"type": "boolean"})),
    ),
    ("POST", "/api/messaging/archive"): Operation(
        purpose="archive", group="G3", takes=conversations.ToArchive
    ),
    ("GET", "/api/app/notification"): Operation(
        purpose="read notifications",
        group="G0",
        query=(
            *_paging(notifications.SORTABLE),
            _query("IsRead", {"type": "boolean"}),
            _query("Type", {"type": "string", "pattern": r"^[^\u0000]*$"}),
        ),
    ),
    ("PUT", "/api/app/notification"): Operation(
        purpose="update notifications", group="G0", takes=notifications.SetRead
    ),
    ("GET", "/api/app/notification/settings"): Operation(purpose="read notification settings", group="G0"),
    ("PUT", "/api/app/notification/settings"): Operation(
        purpose="update notification settings", group="G0", takes=notifications.SettingsChange, stamped=True
    ),
    ("POST", "/api/prospect/records/{id}/merge/{mergeId}"): Operation(
        purpose="merge record {mergeId} with record {id}",
        group="G3",
        takes=prospects.MergeChoices,
        body_required=False,
    ),
    ("POST", "/api/prospect/records/{id}/book-window"): Operation(
        purpose="book a window for a prospect record", group="G3", takes=Window
    ),
    ("POST", "/smsinbound"): Operation(purpose="inbound SMS callback", group="G0"),
    ("POST", "/emailinbound"): Operation(purpose="inbound e-mail callback", group="G0"),
    ("POST", "/api/payment/webhook/payment-provider"): Operation(
        purpose="callback from a payment provider", group="G0"
    ),
}
"""By method and path, in the specification's order and words (care API specification §4)."""

_TEXT: Json = {"type": "string"}
_WEBHOOK_BODIES: dict[str, Json] = {
    "/smsinbound": {
        "application/x-www-form-urlencoded": {
            "schema": {
                "type": "object",
                "properties": {
                    "MessageSid": {"type": "string", "minLength": 1, "maxLength": 64},
                    "From": {"type": "string", "minLength": 1, "maxLength": 40},
                    "To": {"type": "string", "minLength": 1, "maxLength": 40},
                    "Body": _TEXT,
                    "NumMedia": {"type": "integer", "minimum": 0, "maximum": 999},
                },
                "required": ["MessageSid", "From", "To", "Body"],
            }
        }
    },
    "/emailinbound": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "properties": {
                    **dict.fromkeys(("from", "to", "subject", "text", "html", "headers"), _TEXT),
                    "envelope": {
                        "type": "string",
                        "description": 'JSON: {"to": [addresses], "from": address}',
                    },
                    "attachments": {"type": "integer", "description": "how many files attachment1 … are"},
                    "attachment1": {"type": "string", "contentMediaType": "application/octet-stream"},
                },
                "required": ["from", "to"],
            }
        }
    },
    "/api/payment/webhook/payment-provider": {
        "application/json": {"schema": {"$ref": _REF.format(name="PaymentEvent")}}
    },
}


def serve() -> Response:
    """The document of the running service."""
    body = _encoded(current_settings().issuer)
    return Response(body, mimetype="application/json", headers={"Cache-Control": "public, max-age=300"})


@cache
def _encoded(issuer: str) -> bytes:
    return msgspec.json.encode(document(issuer))


def document(issuer: str) -> Json:
    """The whole document for the service at `issuer`; asks the running app for its routes."""
    functions = _functions()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Clinic Care Portal API",
            "version": "1",
            "description": "Everything marked `x-assumed` is this service's own decision, where the "
            "specification shows nothing. `x-spec-section` names the section of the specification.",
        },
        "servers": [{"url": issuer}],
        "tags": [{"name": name} for name in dict.fromkeys(_tag(functions, key) for key in OPERATIONS)],
        "paths": _paths(functions),
        "components": {
            "schemas": _schemas(functions),
            "securitySchemes": _security_schemes(issuer),
        },
    }


def _functions() -> dict[tuple[str, str], str]:
    """The name of the function that answers each operation, by method and the specification's path."""
    by_shape = {(method, _PARAMETER.sub("{}", path)): (method, path) for method, path in OPERATIONS}
    found: dict[tuple[str, str], str] = {}
    for rule in current_app.url_map.iter_rules():
        if not rule.endpoint.startswith("api."):
            continue
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            key = by_shape[method, _PARAMETER.sub("{}", rule.rule)]
            found[key] = rule.endpoint.removeprefix("api.")
    return found


def _tag(functions: Mapping[tuple[str, str], str], key: tuple[str, str]) -> str:
    told = declared.get(functions[key])
    return told.module if told else "Webhook"


def _paths(functions: Mapping[tuple[str, str], str]) -> Json:
    paths: Json = {}
    for (method, path), operation in OPERATIONS.items():
        name = functions[method, path]
        told = declared.get(name)
        described: Json = {
            "operationId": name,
            "summary": operation.purpose,
            "tags": [_tag(functions, (method, path))],
            "x-spec-section": "4",
        }
        if told is None:
            described |= _webhook(path)
        else:
            described |= _endpoint(method, path, operation, told)
        paths.setdefault(path, {})[method.lower()] = described
    return paths


def _endpoint(method: str, path: str, operation: Operation, told: Declared) -> Json:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {**_ID, "x-assumed": True}}
        for name in re.findall(r"\{(\w+)\}", path)
    ]
    parameters += operation.query
    if told.act in SERVICE_CLIENTS:
        parameters.append(
            _query("__tenant", {"type": "string", "description": "the clinic, for a token without one"})
        )
    described: Json = {
        "description": _words(told),
        "parameters": parameters,
        "security": [{"openIdConnect": ["ClientelePortal"]}, {"oauth2": ["ClientelePortal"]}],
        "responses": _responses(method, operation.group, told.answers),
    }
    if operation.takes is not None:
        described["requestBody"] = {
            "required": operation.body_required,
            "content": {"application/json": {"schema": _schema_of(operation)}},
            "x-assumed": True,
        }
    return described


def _words(told: Declared) -> str:
    who = f"For: {', '.join(sorted(ALLOWED[told.act]))}"
    servers = ", and servers of the clinic (Client Credentials)" if told.act in SERVICE_CLIENTS else ""
    # In words alone: as a parameter it would seem free to be sent twice with different bodies.
    key = " The header Idempotency-Key is honoured for 24 hours." if told.idempotent else ""
    return f"{who}{servers}.{key}"


def _schema_of(operation: Operation) -> Json:
    name = operation.takes.__name__
    return {"$ref": _REF.format(name=f"Stamped{name}" if operation.stamped else name)}


def _responses(method: str, group: str, answers: Any) -> Json:
    is_file = answers is Response
    codes = {*_CODES["G1"], *_CODES[group]}
    if method == "GET":
        codes |= {206, 304, 416} if is_file else {304}
    responses: Json = {}
    for code in sorted(codes):
        response: Json = {"description": _MEANINGS[code]}
        if code not in _CODES[group]:
            response["x-assumed"] = True
        if code in (200, 206) and answers is not type(None):
            content: Json = {"application/json": {"schema": _answer(answers)}} if not is_file else {"*/*": {}}
            response["content"] = content
        if code in (400, 403, 404, 500, 501):
            content = {"application/json": {"schema": {"$ref": _REF.format(name="ErrorBody")}}}
            empty: Json = (
                {"text/plain": {"schema": {"type": "string", "maxLength": 0}}} if code == 403 else {}
            )
            response["content"] = content | empty
        if code == 401:
            response["headers"] = {"WWW-Authenticate": {"schema": _TEXT, "x-assumed": True}}
        responses[str(code)] = response
    return responses


def _answer(answers: Any) -> Json:
    (schema,), _ = msgspec.json.schema_components([answers], ref_template=_REF)
    return schema


def _webhook(path: str) -> Json:
    error: Json = {"application/json": {"schema": {"$ref": _REF.format(name="ErrorBody")}}}
    receipt: Json = {"application/json": {"schema": {"$ref": _REF.format(name="Receipt")}}}
    meanings = {
        200: ("Taken, or of no effect (`accepted` false); the same for the same webhook-id", receipt),
        400: ("Bad Request: malformed", error),
        401: ("Unauthorized: no good signature, or one older than five minutes", None),
        413: (_MEANINGS[413], None),
        500: (_MEANINGS[500], None),
    }
    return {
        "description": "No bearer token: a signature over the raw body (Standard Webhooks) says whose call it is.",
        "x-assumed": True,
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": True,
                "schema": {"type": "string", "pattern": pattern},
                "x-assumed": True,
            }
            for name, pattern in (("webhook-id", "^[!-~]{1,200}$"), ("webhook-timestamp", "^[0-9]{1,12}$"))
        ],
        "security": [{"webhookSignature": []}],
        "requestBody": {"required": True, "content": _WEBHOOK_BODIES[path], "x-assumed": True},
        "responses": {
            str(code): {
                "description": meaning,
                "x-assumed": True,
                **({"content": content} if content else {}),
            }
            for code, (meaning, content) in meanings.items()
        },
    }


def _schemas(functions: Mapping[tuple[str, str], str]) -> Json:
    """Every shape by name; a request may give an enumeration as an integer too, an answer never does."""
    answered = _components(
        [
            *(told.answers for told in map(declared.get, functions.values()) if told is not None),
            *(ErrorBody, webhooks.Receipt),
        ]
    )
    asked = _components([*(one.takes for one in OPERATIONS.values() if one.takes is not None), PaymentEvent])
    words = {kind.__name__: kind for kind in _enumerations() if kind.__name__ in asked}
    wider = {_REF.format(name=name): _REF.format(name=f"{name}OrInteger") for name in words}
    schemas = answered | {
        name: schema if name in words else _redirected(schema, wider)
        for name, schema in asked.items()
        if name not in answered
    }
    for name, kind in words.items():
        schemas[f"{name}OrInteger"] = {"anyOf": [{"$ref": _REF.format(name=name)}, _place(kind)]}
    for operation in OPERATIONS.values():
        if operation.stamped:
            schemas[f"Stamped{operation.takes.__name__}"] = _stamped(schemas[operation.takes.__name__])
    return {name: {**schemas[name], "x-assumed": True} for name in sorted(schemas)}


def _components(shapes: Iterable[Any]) -> Json:
    wanted = [shape for shape in shapes if shape not in (Response, type(None))]
    return msgspec.json.schema_components(wanted, ref_template=_REF)[1]


def _enumerations() -> list[type[StrEnum]]:
    kinds = vars(enumerations).values()
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, StrEnum)]


def _redirected(schema: Any, to: Mapping[str, str]) -> Any:
    if isinstance(schema, dict):
        members = cast("Json", schema)
        return {
            name: to.get(value, value) if name == "$ref" else _redirected(value, to)
            for name, value in members.items()
        }
    if isinstance(schema, list):
        return [_redirected(item, to) for item in cast("list[Any]", schema)]
    return schema


def _stamped(schema: Json) -> Json:
    stamp = _components([Stamped])["Stamped"]
    return {
        **schema,
        "title": f"Stamped{schema['title']}",
        "properties": schema["properties"] | stamp["properties"],
        "required": [*schema.get("required", []), *stamp["required"]],
    }


def _security_schemes(issuer: str) -> Json:
    scopes = {"ClientelePortal": "The care API", "offline_access": "A refresh token"}
    return {
        "openIdConnect": {
            "type": "openIdConnect",
            "openIdConnectUrl": f"{issuer}/.well-known/openid-configuration",
            "x-spec-section": "5",
        },
        "oauth2": {
            "type": "oauth2",
            "flows": {
                "authorizationCode": {
                    "authorizationUrl": f"{issuer}/connect/authorize",
                    "tokenUrl": f"{issuer}/connect/token",
                    "refreshUrl": f"{issuer}/connect/token",
                    "scopes": scopes,
                },
                "clientCredentials": {"tokenUrl": f"{issuer}/connect/token", "scopes": scopes},
            },
            "x-spec-section": "5",
        },
        "webhookSignature": {
            "type": "apiKey",
            "in": "header",
            "name": "webhook-signature",
            "description": "Standard Webhooks: `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`.",
            "x-spec-section": "5",
            "x-assumed": True,
        },
    }
