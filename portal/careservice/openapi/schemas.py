"""The schemas of requests and responses, generated from the endpoints' own types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, cast

import msgspec
from flask import Response
from msgspec import inspect

from portal.careservice.api import webhooks
from portal.careservice.api.endpoint import declared
from portal.careservice.api.errors import ErrorBody
from portal.careservice.api.payload import Stamped
from portal.careservice.domain import enumerations
from portal.careservice.domain.consents.content import Clause, Statement
from portal.careservice.domain.protocols import Medication
from portal.careservice.openapi.operations import OPERATIONS, Json, Operation, position_in
from portal.careservice.webhooks.payloads import EventKind, PaymentEvent, PaymentObject

_NAMED_BY_OTHERS = frozenset(
    {Clause, Statement, Medication, webhooks.Receipt, PaymentEvent, PaymentObject, EventKind}
)
_NAMED_BY_OTHERS_IN = frozenset({"acknowledgedStatementIds", "credentialId"})
"""Types and members whose ids others choose freely, so that they aren't UUIDs: authors of forms, plans and payments, and passkeys."""

REF = "#/components/schemas/{name}"
"""The reference to a schema within the document."""


def all_schemas(functions: Mapping[tuple[str, str], str]) -> Json:
    """Every schema by name; requests may also give an enumeration as an integer, responses never do."""
    answered = _components(
        [
            *(found.answers for found in map(declared.get, functions.values()) if found is not None),
            *(ErrorBody, webhooks.Receipt),
        ]
    )
    asked = _components([*(one.takes for one in OPERATIONS.values() if one.takes is not None), PaymentEvent])
    requested = {kind.__name__: kind for kind in _enumerations() if kind.__name__ in asked}
    wider = {REF.format(name=name): REF.format(name=f"{name}OrInteger") for name in requested}
    schemas = answered | {
        name: schema if name in requested else _redirected(schema, wider)
        for name, schema in asked.items()
        if name not in answered
    }
    for name, kind in requested.items():
        schemas[f"{name}OrInteger"] = {"anyOf": [{"$ref": REF.format(name=name)}, position_in(kind)]}
    for operation in OPERATIONS.values():
        if operation.stamped:
            schemas[f"Stamped{operation.takes.__name__}"] = _stamped(schemas[operation.takes.__name__])
    return {name: {**schemas[name], "x-assumed": True} for name in sorted(schemas)}


def _components(shapes: Iterable[Any]) -> Json:
    wanted = [shape for shape in shapes if shape not in (Response, type(None))]
    schemas = msgspec.json.schema_components(wanted, ref_template=REF)[1]
    for struct in _structs(inspect.multi_type_info(wanted)):
        members = schemas.get(struct.cls.__name__, {}).get("properties", {})
        for field in struct.fields:
            form = _format(struct, field)
            if form is not None and field.encode_name in members:
                members[field.encode_name] = _formatted(members[field.encode_name], form)
    return schemas


def _structs(kinds: Iterable[inspect.Type]) -> list[inspect.StructType]:
    """Every struct in `kinds`, each once."""
    found: dict[type, inspect.StructType] = {}
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, inspect.StructType) and kind.cls not in found:
            found[kind.cls] = kind
            waiting += [field.type for field in kind.fields]
        elif isinstance(kind, inspect.UnionType):
            waiting += kind.types
        elif isinstance(kind, inspect.ListType):
            waiting.append(kind.item_type)
    return list(found.values())


def _format(struct: inspect.StructType, field: inspect.Field) -> str | None:
    """The format that msgspec leaves out: that a string is an instant, or the id of one of this service's records."""
    kinds = _texts(field.type)
    if any(isinstance(kind, inspect.DateTimeType) for kind in kinds):
        return "date-time"
    is_id = field.encode_name == "id" or field.encode_name.endswith(("Id", "Ids"))
    is_text = any(isinstance(kind, inspect.StrType) for kind in kinds)
    is_ours = struct.cls not in _NAMED_BY_OTHERS and field.encode_name not in _NAMED_BY_OTHERS_IN
    return "uuid" if is_id and is_text and is_ours else None


def _texts(kind: inspect.Type) -> list[inspect.Type]:
    parts = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return [part.item_type if isinstance(part, inspect.ListType) else part for part in parts]


def _formatted(schema: Json, form: str) -> Json:
    if schema.get("type") == "string":
        return {"format": form, **schema}
    if schema.get("type") == "array":
        return {**schema, "items": _formatted(schema["items"], form)}
    if "anyOf" in schema:
        return {**schema, "anyOf": [_formatted(part, form) for part in schema["anyOf"]]}
    return schema


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


def schema_of(operation: Operation) -> Json:
    """The schema of an operation's request body."""
    name = operation.takes.__name__
    return {"$ref": REF.format(name=f"Stamped{name}" if operation.stamped else name)}


def schema_of_answer(answers: Any) -> Json:
    """The schema of what an endpoint's handler returns."""
    (schema,), _ = msgspec.json.schema_components([answers], ref_template=REF)
    return schema
