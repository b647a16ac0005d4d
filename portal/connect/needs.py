"""What the portal needs of a clinic's API, as an OpenAPI 3.1 document and as a page to read.

Generated from the types that the portal itself uses (portal.services.endpoints), so it can't be out of date. It includes
members that the portal ignores: an API may send them or not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from msgspec import inspect

from portal.connect.dialects.named_records import choices, query_names, record_of, records
from portal.services.api import AnyEndpoint
from portal.services.endpoints import ALL
from portal.services.members import Member, members_of

Json = dict[str, Any]

_STATUSES: Mapping[str, str] = {
    "400": "what was sent doesn't fit; members are named",
    "401": "the token isn't good, or the sign-in is too old (RFC 9470)",
    "403": "with a code: a rule forbids it; without one: the permission is missing",
    "404": "absent, or not for this person",
    "409": "somebody changed the record meanwhile; 412, or 403 with a code …:ConcurrencyConflict, say the same",
    "501": "the clinic doesn't offer this, or keeps the record elsewhere",
}

_FORMS: Mapping[type[inspect.Type], tuple[Json, list[str]]] = {
    inspect.DateTimeType: (
        {"type": "string", "format": "date-time"},
        ["ISO 8601 with Z, an offset, or none (then UTC), 0 to 7 digits of a second"],
    ),
    inspect.DateType: (
        {"type": "string", "format": "date"},
        ["YYYY-MM-DD", "an instant: the day that it names"],
    ),
    inspect.BoolType: ({"type": "boolean"}, []),
    inspect.IntType: ({"type": "integer"}, []),
    inspect.FloatType: ({"type": "number"}, []),
    inspect.DictType: ({"type": "object"}, []),
    inspect.StrType: ({"type": "string"}, []),
}


def document() -> Json:
    """The OpenAPI 3.1 document; each member has `x-portal` with its use, pages and accepted forms."""
    paths: Json = {}
    for endpoint in ALL:
        paths.setdefault(endpoint.template, {})[endpoint.method.lower()] = _operation(endpoint)
    schemas = {name: _record(shape) for name, shape in records().items()}
    schemas |= {name: _choice(name) for name in choices()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "What the portal needs of a care API",
            "version": "1",
            "description": "The calls that the portal makes, and what it reads of their answers.",
        },
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: AnyEndpoint) -> Json:
    operation: Json = {
        "tags": [endpoint.group],
        "operationId": _operation_id(endpoint),
        "parameters": [
            *(
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in endpoint.ids
            ),
            *(_parameter(member) for member in (members_of(endpoint.query) if endpoint.query else ())),
        ],
        "responses": {"200": _answer(endpoint)}
        | {code: {"description": told} for code, told in _STATUSES.items()},
    }
    if not endpoint.is_safe:
        operation["responses"]["204"] = {"description": "Done; the portal reads the record again"}
    if endpoint.body:
        schema: Json = _reference(endpoint.body.__name__)
        if endpoint.without:
            schema = {**schema, "x-portal": {"without": sorted(endpoint.without)}}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return operation


def _operation_id(endpoint: AnyEndpoint) -> str:
    words = re.findall(r"\w+", re.sub(r"^/api/", "", endpoint.template.replace("{", "by-")))
    return "-".join([endpoint.method.lower(), *words])


def _parameter(member: Member) -> Json:
    return {
        "name": member.name,
        "in": "query",
        "required": member.is_required,
        "schema": _schema(member.value_type),
    }


def _answer(endpoint: AnyEndpoint) -> Json:
    if endpoint.answer is bytes:
        binary: Json = {"schema": {}}
        text: Json = {"schema": {"type": "string", "contentEncoding": "base64"}}
        return {
            "description": "The file, or base64 in a JSON string",
            "content": {"*/*": binary, "application/json": text},
        }
    record = record_of(endpoint.answer)
    if record is None:
        return {"description": "Done"}
    schema = _reference(record.__name__)
    if record is not endpoint.answer:
        items: Json = {"type": "array", "items": schema}
        whole: Json = {"type": "integer"}
        counts = {"totalCount": whole} | ({"unreadCount": whole} if record.__name__ == "Notification" else {})
        page: Json = {"type": "object", "required": ["items"], "properties": {"items": items, **counts}}
        schema = {"anyOf": [page, items]}
    return {"description": "As it is now", "content": {"application/json": {"schema": schema}}}


def _record(shape: type) -> Json:
    properties: Json = {}
    for member in members_of(shape):
        schema = _schema(member.value_type)
        if member.may_be_text:
            schema = {"anyOf": [schema, {"type": "string"}]}
        if member.is_nullable:
            schema = {"anyOf": [schema, {"type": "null"}]}
        properties[member.name] = {**schema, "x-portal": about(member)}
    found: Json = {
        "type": "object",
        "description": (shape.__doc__ or "").strip().partition("\n")[0],
        "properties": properties,
    }
    required = [member.name for member in members_of(shape) if member.is_required]
    return found | ({"required": required} if required else {})


def about(member: Member) -> Json:
    """What the portal does with a member: `use` is required, used, ignored or sent."""
    sent = {endpoint.body.__name__ for endpoint in ALL if endpoint.body}
    read = {shape.__name__ for shape in records().values()} - _only_sent()
    told: Json = {"use": "sent" if member.record in sent and member.record not in read else "ignored"}
    use = member.use
    if member.record in read and (member.is_required or use):
        told["use"] = "required" if member.is_required else "used"
    if use:
        told |= {"for": use.purpose, "pages": list(use.areas)}
    _schema_of, forms = _FORMS.get(type(_item(member.value_type)), ({}, []))
    return told | ({"forms": forms} if forms else {})


def _only_sent() -> frozenset[str]:
    answered: set[str] = set()
    waiting = [shape for endpoint in ALL if (shape := record_of(endpoint.answer))]
    while waiting:
        shape = waiting.pop()
        if shape.__name__ not in answered:
            answered.add(shape.__name__)
            waiting += [member.nested for member in members_of(shape) if member.nested]
    return frozenset(records()) - answered


def _item(kind: inspect.Type) -> inspect.Type:
    return kind.item_type if isinstance(kind, inspect.VarTupleType) else kind


def _schema(kind: inspect.Type) -> Json:
    match kind:
        case inspect.StructType(cls=cls):
            return _reference(cls.__name__)
        case inspect.EnumType(cls=cls):
            return _reference(cls.__name__)
        case inspect.VarTupleType(item_type=item):
            return {"type": "array", "items": _schema(item)}
        case _:
            return dict(_FORMS.get(type(kind), ({}, []))[0])


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _choice(name: str) -> Json:
    values = [member.value for member in choices()[name]]
    forms = ["the name in any case, with or without _ and -", "the place in this list, from 0"]
    return {
        "type": "string",
        "description": (choices()[name].__doc__ or "").strip().partition("\n")[0],
        "x-portal": {"values": values, "forms": forms, "others": "are shown as text"},
    }


def page() -> str:
    """The same as a Markdown page (docs/api-needs.md)."""
    lines = [
        "# What the portal needs of a care API",
        "",
        "Generated by `make documents` from the portal's own types, for each release. `python -m portal contract` prints it",
        "as OpenAPI 3.1, for programs. A [dialect file](dialects.md) describes how an API differs.",
        "",
        "*Required*: the record can't be shown without it. *Used*: only the part described is missing without it.",
        "*Sent*: the portal writes it. Members that aren't listed are ignored.",
        "",
        "## Calls",
        "",
        "| Call | Sends | Reads | Query parameters |",
        "| --- | --- | --- | --- |",
    ]
    for endpoint in ALL:
        asked = (
            ", ".join(f"`{parameter.name}`" for parameter in members_of(endpoint.query))
            if endpoint.query
            else ""
        )
        record = record_of(endpoint.answer)
        answer = "the file's bytes" if endpoint.answer is bytes else ""
        if record is not None:
            answer = f"[{record.__name__}](#{record.__name__.lower()})"
            answer += "" if record is endpoint.answer else ", a list"
        sent = f"[{endpoint.body.__name__}](#{endpoint.body.__name__.lower()})" if endpoint.body else ""
        lines.append(f"| `{endpoint.method} {endpoint.template}` | {sent} | {answer} | {asked} |")
    lines += ["", "## Records"]
    for name, shape in records().items():
        lines += ["", f"### {name}", "", (shape.__doc__ or "").strip().partition("\n")[0], ""]
        lines += ["| Member | Type | | Used for | Pages |", "| --- | --- | --- | --- | --- |"]
        for member in members_of(shape):
            told = about(member)
            if told["use"] != "ignored":
                pages = ", ".join(cast("list[str]", told.get("pages", [])))
                kind = _type_name(member.value_type) + (" or text" if member.may_be_text else "")
                kind += " or null" if member.is_nullable else ""
                lines.append(
                    f"| `{member.name}` | {kind} | {told['use']} | {told.get('for', '')} | {pages} |"
                )
    lines += [
        "",
        "## Enumerations",
        "",
        "Names in any case or style, or the place in the list from 0. A value that",
        "isn't listed is shown as text.",
        "",
    ]
    lines += ["| Enumeration | Values |", "| --- | --- |"]
    lines += [
        f"| {name} | {', '.join(member.value for member in choice)} |" for name, choice in choices().items()
    ]
    parameters = ", ".join(f"`{name}`" for name in query_names())
    lines += ["", "## Parameters", "", f"{parameters}. A clinic's own client adds `__tenant`.", ""]
    return "\n".join(lines)


def _type_name(kind: inspect.Type) -> str:
    match kind:
        case inspect.StructType(cls=cls) | inspect.EnumType(cls=cls):
            return cls.__name__
        case inspect.VarTupleType(item_type=item):
            return f"list of {_type_name(item)}"
        case inspect.DateTimeType():
            return "instant"
        case inspect.DateType():
            return "day"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType() | inspect.FloatType():
            return "number"
        case inspect.DictType():
            return "object"
        case _:
            return "text"
