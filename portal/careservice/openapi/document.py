"""The OpenAPI 3.1 document at `/openapi.json`: the care API specification's 32 endpoints as implemented here.

Generated from the endpoints' own types. Each operation names the section of the specification that it comes from;
what the specification doesn't show is marked `x-assumed: true`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import msgspec
from flask import Response, current_app

from portal.careservice.api.endpoint import Declared, declared
from portal.careservice.domain.permissions import (
    ALLOWED,
    MAX_AGE,
    MAX_AGE_FOR_THE_CLINIC,
    SERVICE_CLIENTS,
    Act,
)
from portal.careservice.openapi.operations import ID, OPERATIONS, Json, Operation, query_parameter
from portal.careservice.openapi.refusals import refusals_of
from portal.careservice.openapi.schemas import REF, all_schemas, schema_of, schema_of_answer
from portal.careservice.openapi.webhook_operations import webhook_operation
from portal.careservice.settings import current_settings

_PARAMETER = re.compile(r"<(?:\w+:)?\w+>|\{\w+\}")
_CODES: dict[str, tuple[int, ...]] = {
    "G1": (200, 400, 401, 403, 404, 500, 501),
    "G2": (200, 204, 400, 401, 403, 404, 500, 501),
    "G3": (200,),
    "G0": (),
}
"""The codes that the specification documents, by group of endpoints (its §4)."""
_MEANINGS = {
    200: "OK",
    204: "No Content: deleted",
    206: "Partial Content: the requested range",
    304: "Not Modified: If-None-Match matches the ETag",
    400: "Bad Request: malformed; `validationErrors` names the members",
    401: "Unauthorized: no valid token, or a sign-in too old for the act (RFC 9470), as the challenge says",
    403: "Forbidden: empty if the permission is missing, else `error.code` names the rule that refuses",
    404: "Not Found: absent, of another clinic, not this person's, or not released",
    413: "Content Too Large",
    416: "Range Not Satisfiable",
    500: "Internal Server Error",
    501: "Not Implemented: the clinic doesn't use this, or its own EMR keeps the record",
    503: "Service Unavailable: others kept it from being done, and nothing was changed; to be repeated after Retry-After",
}


_FRESH = {
    Act.SIGN_CONSENT: "Needs a sign-in within the last {seconds} seconds; "
    f"for clinicians and witnesses, within the last {int(MAX_AGE_FOR_THE_CLINIC.total_seconds())}.",
    Act.UPDATE_EMBRYO: "A new status or disposition needs a sign-in within the last {seconds} seconds.",
}


_BINARY: Json = {"type": "string", "format": "binary"}


def _link(operation: str, parameter: str, member: str, description: str) -> Json:
    return {
        "operationId": operation,
        "parameters": {parameter: f"$response.body#/{member}"},
        "description": description,
        "x-assumed": True,
    }


_READ_FORM = _link("get_consent_form", "id", "id", "the form, with its body")
_LINKS: dict[str, Json] = {
    "create_consent_form": {
        "read": _READ_FORM,
        "sign": _link("sign_consent_form", "id", "id", "sign it"),
        "withdraw": _link("revoke_consent_form", "id", "id", "withdraw it"),
    },
    "sign_consent_form": {"read": _READ_FORM},
    "revoke_consent_form": {"read": _READ_FORM},
    "create_protocol": {"read": _link("get_protocol", "id", "id", "the protocol")},
    "get_consent_form": {"episode": _link("get_episode", "episodeId", "episodeId", "its episode")},
}
"""The links of an operation's response, by the operation's name."""


def serve() -> Response:
    """The document of the running service."""
    body = _encoded(current_settings().issuer)
    return Response(body, mimetype="application/json", headers={"Cache-Control": "public, max-age=300"})


@cache
def _encoded(issuer: str) -> bytes:
    return msgspec.json.encode(document(issuer))


def document(issuer: str) -> Json:
    """The whole document for the service at `issuer`; needs an app context, for its routes."""
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
        "components": {"schemas": all_schemas(functions), "securitySchemes": _security_schemes(issuer)},
    }


def _functions() -> dict[tuple[str, str], str]:
    """The name of each operation's handler, by method and the specification's path."""
    by_shape = {(method, _PARAMETER.sub("{}", path)): (method, path) for method, path in OPERATIONS}
    found: dict[tuple[str, str], str] = {}
    for rule in current_app.url_map.iter_rules():
        blueprint, _, name = rule.endpoint.rpartition(".")
        if blueprint not in ("api", "webhooks"):
            continue
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            key = by_shape[method, _PARAMETER.sub("{}", rule.rule)]
            found[key] = name
    return found


def _tag(functions: Mapping[tuple[str, str], str], key: tuple[str, str]) -> str:
    declaration = declared.get(functions[key])
    return declaration.module if declaration else "Webhook"


def _paths(functions: Mapping[tuple[str, str], str]) -> Json:
    paths: Json = {}
    for (method, path), operation in OPERATIONS.items():
        name = functions[method, path]
        declaration = declared.get(name)
        described: Json = {
            "operationId": name,
            "summary": operation.purpose,
            "tags": [_tag(functions, (method, path))],
            "x-spec-section": "4",
        }
        if declaration is None:
            described |= webhook_operation(path)
        else:
            described |= _endpoint(name, method, path, operation, declaration)
        paths.setdefault(path, {})[method.lower()] = described
    return paths


def _endpoint(name: str, method: str, path: str, operation: Operation, declaration: Declared) -> Json:
    parameters = [
        {"name": parameter, "in": "path", "required": True, "schema": {**ID, "x-assumed": True}}
        for parameter in re.findall(r"\{(\w+)\}", path)
    ]
    parameters += operation.query
    parameters += _headers(method, declaration)
    if declaration.act in SERVICE_CLIENTS:
        parameters.append(
            query_parameter(
                "__tenant", {"type": "string", "description": "the clinic, for a token without one"}
            )
        )
    described: Json = {
        "description": _description(declaration),
        "parameters": parameters,
        "security": [{"openIdConnect": ["ClientelePortal"]}, {"oauth2": ["ClientelePortal"]}],
        "responses": _responses(name, method, operation.group, declaration),
    }
    if operation.takes is not None:
        described["requestBody"] = {
            "required": operation.body_required,
            "content": {"application/json": {"schema": schema_of(operation)}},
            "x-assumed": True,
        }
    return described


def _headers(method: str, declaration: Declared) -> list[Json]:
    """The request headers that affect the response, besides the token."""
    names: dict[str, Json] = {
        "X-Correlation-Id": {
            "type": "string",
            "description": "returned unchanged if it is 1 to 128 letters, digits and `._:-`, else replaced by a new one",
        },
        "Accept-Language": {"type": "string", "examples": ["es"]},
    }
    if method == "GET":
        names["If-None-Match"] = {"type": "string", "examples": ['"0123456789abcdef"']}
    if declaration.idempotent:
        names["Idempotency-Key"] = {
            "type": "string",
            "pattern": "^[!-~]{1,200}$",
            "description": "kept for 24 hours: a repeated request isn't carried out again and gets the first "
            "answer; a different request with the same key gets a 400",
            "examples": ["8e03978e-40d5-43e8-bc93-6894a57f9324"],
        }
    if declaration.answers is Response:
        names["Range"] = {"type": "string", "examples": ["bytes=0-1023"]}
    return [
        {"name": name, "in": "header", "required": False, "schema": schema, "x-assumed": True}
        for name, schema in names.items()
    ]


def _description(declaration: Declared) -> str:
    who = f"For: {', '.join(sorted(ALLOWED[declaration.act]))}"
    servers = ", and servers of the clinic (Client Credentials)" if declaration.act in SERVICE_CLIENTS else ""
    if declaration.act not in MAX_AGE:
        return f"{who}{servers}."
    seconds = int(MAX_AGE[declaration.act].total_seconds())
    fresh = _FRESH.get(declaration.act, "Needs a sign-in within the last {seconds} seconds.").format(
        seconds=seconds
    )
    return f"{who}{servers}. {fresh}"


def _responses(name: str, method: str, group: str, declaration: Declared) -> Json:
    refusals = refusals_of(name)
    answers = declaration.answers
    is_file = answers is Response
    codes = {*_CODES["G1"], *_CODES[group], 503}
    if method == "GET":
        codes |= {206, 304, 416} if is_file else {304}
    responses: Json = {}
    for code in sorted(codes):
        response: Json = {"description": _MEANINGS[code] + (refusals if code == 403 else "")}
        if code not in _CODES[group]:
            response["x-assumed"] = True
        if code in (200, 206) and answers is not type(None):
            content: Json = (
                {kind: {"schema": _BINARY} for kind in ("application/octet-stream", "*/*")}
                if is_file
                else {"application/json": {"schema": schema_of_answer(answers)}}
            )
            response["content"] = content
        if code in (400, 403, 404, 500, 501, 503):
            content = {"application/json": {"schema": {"$ref": REF.format(name="ErrorBody")}}}
            # The empty one comes first: generated clients use the first media type that they know.
            empty: Json = (
                {"text/plain": {"schema": {"type": "string", "maxLength": 0}}} if code == 403 else {}
            )
            response["content"] = empty | content
        if code == 200 and name in _LINKS:
            response["links"] = _LINKS[name]
        if code == 200 and method == "GET":
            response["headers"] = {"ETag": {"schema": {"type": "string"}, "x-assumed": True}}
        if code == 503:
            response["headers"] = {"Retry-After": {"schema": {"type": "integer", "minimum": 1}}}
        if code == 401:
            schema: Json = {"type": "string", "examples": _challenges(declaration)}
            response["headers"] = {"WWW-Authenticate": {"schema": schema, "x-assumed": True}}
        responses[str(code)] = response
    return responses


def _challenges(declaration: Declared) -> list[str]:
    refused = 'Bearer error="invalid_token"'
    if declaration.act not in MAX_AGE:
        return ["Bearer", refused]
    seconds = int(MAX_AGE[declaration.act].total_seconds())
    return ["Bearer", refused, f'Bearer error="insufficient_user_authentication", …, max_age="{seconds}"']


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
