"""The published contract lists exactly what the portal reads and sends."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
import schemathesis

from portal import __main__
from portal.connect import needs
from portal.connect.dialects.named_records import records
from portal.services.endpoints import ALL
from portal.services.members import members_of

ROOT = Path(__file__).parents[2]
BY_NAME_ALONE = {
    *("Address.line1", "Address.line2", "Address.city", "Address.region", "EmergencyContact.relation"),
    *("NotificationChoice.push", "NotificationChoice.inApp"),
}
"""Members that forms read by their names."""


def test_the_command_prints_both(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["portal", "contract"])
    assert __main__.main() == 0
    assert json.loads(capsys.readouterr().out)["openapi"] == "3.1.0"
    monkeypatch.setattr(sys, "argv", ["portal", "contract", "--page"])
    assert __main__.main() == 0
    assert capsys.readouterr().out.startswith("# What the portal needs")


def test_the_contract_lists_each_call_once_and_has_no_dangling_reference() -> None:
    document = needs.document()
    calls = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert calls == {(one.method, one.template) for one in ALL}
    operations = [one["operationId"] for item in document["paths"].values() for one in item.values()]
    assert len(set(operations)) == len(operations)
    text = json.dumps(document)
    for name in set(re.findall(r"#/components/schemas/(\w+)", text)):
        assert name in document["components"]["schemas"]


def test_lists_are_pages_or_arrays_and_only_of_notifications_the_unread_are_counted() -> None:
    schemas = {
        item["get"]["operationId"]: item["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        for item in needs.document()["paths"].values()
        if "get" in item and "application/json" in item["get"]["responses"]["200"]["content"]
    }
    pages = {name: schema["anyOf"][0] for name, schema in schemas.items() if "anyOf" in schema}
    unread = {name for name, page in pages.items() if "unreadCount" in page["properties"]}
    assert unread == {"get-app-notification"}
    for name, page in pages.items():
        assert page["required"] == ["items"]
        assert {*page["properties"]} == {"items", "totalCount", *(["unreadCount"] if name in unread else [])}


def test_the_contract_is_valid_openapi() -> None:
    document = needs.document()
    schemathesis.openapi.from_dict(document).validate()
    document["paths"]["/api/app/notification"]["get"]["parameters"] = "none"
    with pytest.raises(Exception, match="none"):
        schemathesis.openapi.from_dict(document).validate()


def test_each_schema_is_valid_and_accepts_the_portals_records() -> None:
    document = needs.document()
    for name, schema in document["components"]["schemas"].items():
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
        assert jsonschema_rs.validator_for({**schema, "components": document["components"]}), name
    answers = [get["responses"]["200"] for path in document["paths"].values() if (get := path.get("get"))]
    (file,) = [answer["content"] for answer in answers if "*/*" in answer.get("content", ())]
    text = {"type": "string", "contentEncoding": "base64"}
    assert file == {"*/*": {"schema": {}}, "application/json": {"schema": text}}
    episode = {"$ref": "#/components/schemas/Episode", "components": document["components"]}
    good: Any = {"id": "1", "status": "Active", "patient": {"id": "2"}}
    assert jsonschema_rs.is_valid(episode, good)
    assert not jsonschema_rs.is_valid(episode, {**good, "patient": {}})
    assert not jsonschema_rs.is_valid(episode, {**good, "alerts": [{"text": 1}]})


@cache
def code() -> str:
    folders = ("portal/views", "portal/web", "portal/services", "templates")
    files = [
        path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".html")
    ]
    own = {"needs.py"}
    return "\n".join(
        path.read_text(encoding="utf-8")
        for path in files
        if path.name not in own and "dialects" not in path.parts
    )


@pytest.mark.parametrize("record", sorted(set(records()) - needs._only_sent()))
def test_members_listed_as_used_are_read_and_ignored_ones_are_not(record: str) -> None:
    shape = records()[record]
    attributes = {field.encode_name: field.name for field in msgspec.structs.fields(shape)}
    for member in members_of(shape):
        use = needs.about(member)["use"]
        is_read = re.search(rf"\.{attributes[member.name]}\b", code()) is not None
        if use == "used":
            assert is_read or f"{record}.{member.name}" in BY_NAME_ALONE, (
                f"{record}.{member.name} is read nowhere: show it, or take the purpose from its field"
            )
        elif use == "ignored":
            assert not is_read or member.name in SHARED_NAMES, (
                f"{record}.{member.name} is read: say on its field what it is used for"
            )


SHARED_NAMES = {"conversationId", "bookingId", "concurrencyStamp", "creationTime", "lastModificationTime"}
"""Names that other records have too, of which they are read."""


def test_every_area_is_one_of_the_portals_views() -> None:
    views = ROOT / "portal/views"
    for shape in records().values():
        for member in members_of(shape):
            for area in needs.about(member).get("pages", []):
                assert (views / area).is_dir() or (views / f"{area}.py").is_file(), area
