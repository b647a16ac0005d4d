"""The OpenAPI document matches the service: every route, and the shape of every response."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import jsonschema_rs
import pytest

from portal.careservice.api.endpoint import declared
from portal.careservice.app import create_app
from portal.careservice.domain.rules import Rule
from portal.careservice.openapi.operations import OPERATIONS
from portal.careservice.settings import Settings
from tests.careservice.api.calls import AMELIA_EPISODE, CONSENTS, GRACE_EPISODE, Api, CheckedApi

Json = dict[str, Any]
G1 = {"200", "400", "401", "403", "404", "500", "501"}
ITEM = re.compile(r"\{\w+\}|<\w+>")
SENT = Path(__file__).with_name("sent.txt")


@pytest.fixture(scope="module")
def document(care_service: Any) -> Json:
    api = Api(care_service)
    answer = api(None, "GET", "/openapi.json")
    api.close()
    assert answer.status_code == 200
    return answer.json()


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield method.upper(), path, operation


def routes(database: Path) -> set[tuple[str, str]]:
    """Method and address of each endpoint of the service, `{}` for each id."""
    app = create_app(Settings(database_url=f"sqlite:///{database}", issuer="http://127.0.0.1:1"))
    return {
        (method, ITEM.sub("{}", rule.rule))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.endpoint.startswith(("api.", "webhooks."))
    }


def test_every_route_is_described_and_every_description_has_a_route(tmp_path: Path) -> None:
    described = {(method, ITEM.sub("{}", path)) for method, path in OPERATIONS}
    served = routes(tmp_path / "unused.db")
    untold, unserved = sorted(served - described), sorted(described - served)
    assert not untold, f"describe {untold} in OPERATIONS in portal/careservice/openapi/operations.py"
    assert not unserved, f"portal/careservice/api has no route for {unserved}"


def test_the_document_is_valid_openapi(document: Json) -> None:
    assert document["openapi"] == "3.1.0"
    schemas = document["components"]["schemas"]
    for schema in schemas.values():
        jsonschema_rs.validator_for({**schema, "components": document["components"]})
    named = set(re.findall(r'#/components/schemas/([^"\']+)', str(document)))
    assert named <= set(schemas)


def test_the_document_lists_every_route_and_nothing_else(document: Json, tmp_path: Path) -> None:
    told = {(method, ITEM.sub("{}", path)) for method, path, _ in operations(document)}
    assert told == routes(tmp_path / "unused.db")


def test_status_codes_are_those_of_the_specification(document: Json) -> None:
    for method, path, operation in operations(document):
        codes = set(operation["responses"])
        documented = {code for code, answer in operation["responses"].items() if "x-assumed" not in answer}
        assert "503" in codes - documented
        assert operation["x-spec-section"] == "4"
        assert operation["operationId"]
        if operation["security"] == [{"webhookSignature": []}]:
            assert codes == {"200", "400", "401", "413", "500", "503"}
            assert documented == set()
        elif method == "DELETE":
            assert codes - {"503"} == documented == G1 | {"204"}
        elif path.endswith("/content"):
            assert codes == G1 | {"206", "304", "416", "503"}
        else:
            assert codes == G1 | {"503"} | ({"304"} if method == "GET" else set())
        if path.startswith(
            ("/api/document", "/api/file", "/api/messaging", "/api/app/mess", "/api/prospect")
        ):
            assert documented == {"200"}
        if path.startswith(("/api/care/patients", "/api/care/cases", "/api/care/pgt", "/api/calendar")):
            assert documented == G1


def test_assumptions_are_marked(document: Json) -> None:
    assert all(schema["x-assumed"] for schema in document["components"]["schemas"].values())
    for _, _, operation in operations(document):
        assert operation.get("requestBody", {"x-assumed": True})["x-assumed"] is True
        for parameter in operation["parameters"]:
            assert parameter.get("x-assumed") or parameter["schema"]["x-assumed"]


def test_every_rule_is_documented_at_its_operations(document: Json) -> None:
    told = {
        operation["operationId"]: set(
            re.findall(r"`ClientelePortal:(\w+)`", str(operation["responses"]["403"]))
        )
        for _, _, operation in operations(document)
        if "403" in operation["responses"]
    }
    undocumented = {rule.value for rule in Rule} - set().union(*told.values())
    assert not undocumented, f"say in portal/careservice/openapi/refusals.py who is refused by {undocumented}"
    assert {"PatientMustSign", "PartnerMustSign", "FormAlreadyOpen"} <= told["create_consent_form"]
    assert {"RoleNotYours"} <= told["sign_consent_form"]
    assert {"FormMissing", "WishDiffers", "OnHold", "SecondPersonMissing"} <= told["update_embryo"]


def test_embryo_members_of_consent_forms_are_documented(document: Json) -> None:
    schemas = document["components"]["schemas"]
    assert {"embryoStorageIds", "disposition"} <= schemas["NewForm"]["properties"].keys()
    answered = schemas["ConsentFormRecord"]
    assert {"embryoStorageIds", "disposition", "seal"} <= answered["properties"].keys()
    assert not {"embryoStorageIds", "disposition", "seal"} & set(answered["required"])
    assert "physicianId" in schemas["StampedCaseChange"]["required"]


def test_instants_and_ids_have_their_formats(document: Json) -> None:
    schemas = document["components"]["schemas"]

    def form(name: str, member: str) -> str | None:
        schema = schemas[name]["properties"][member]
        schema = schema.get("items") or (schema.get("anyOf") or [schema])[0]
        return schema.get("format")

    assert form("ConsentFormRecord", "creationTime") == form("NewForm", "expiresAt") == "date-time"
    assert form("MessageRecord", "readAt") == form("ConversationRecord", "lastMessageAt") == "date-time"
    assert form("ConsentFormRecord", "id") == form("MessageRecord", "senderId") == "uuid"
    assert form("ConsentFormRecord", "embryoStorageIds") == "uuid"
    assert form("PatientRecord", "dateOfBirth") == "date"
    for name, member in (
        ("Clause", "id"),
        ("Statement", "id"),
        ("NewSignature", "acknowledgedStatementIds"),
        ("PaymentEvent", "id"),
        ("Receipt", "id"),
    ):
        assert form(name, member) is None


def test_the_idempotency_key_is_documented_exactly_where_it_is_honoured(
    document: Json, tmp_path: Path
) -> None:
    told = {
        operation["operationId"]: one["schema"]
        for _, _, operation in operations(document)
        for one in operation["parameters"]
        if one["name"] == "Idempotency-Key"
    }
    assert set(told) == {name for name, one in declared.items() if one.idempotent}
    assert {"create_consent_form", "sign_consent_form", "book_window"} <= set(told)
    for schema in told.values():
        validator = jsonschema_rs.validator_for(schema)
        assert [validator.is_valid(key) for key in ("a", "~" * 200, "", "a b", "a" * 201)] == [
            *(True, True),
            *(False, False, False),
        ]


def test_headers_files_and_links_are_documented(document: Json) -> None:
    for method, _, operation in operations(document):
        sent = {one["name"] for one in operation["parameters"] if one["in"] == "header"}
        if operation["security"] == [{"webhookSignature": []}]:
            assert sent == {"webhook-id", "webhook-timestamp"}
            continue
        assert {"X-Correlation-Id", "Accept-Language"} <= sent
        assert ("If-None-Match" in sent) is (method.upper() == "GET")
        assert list(operation["responses"]["403"]["content"]) == ["text/plain", "application/json"]
    content = document["paths"]["/api/file-management/file-descriptor/content"]["get"]
    assert "Range" in {one["name"] for one in content["parameters"]}
    assert content["responses"]["200"]["content"]["*/*"]["schema"]["format"] == "binary"
    known = {operation["operationId"]: operation for _, _, operation in operations(document)}
    links = [
        link
        for operation in known.values()
        for link in operation["responses"]["200"].get("links", {}).values()
    ]
    assert links
    for link in links:
        named = {one["name"] for one in known[link["operationId"]]["parameters"] if one["in"] == "path"}
        assert set(link["parameters"]) == named


def test_acts_that_need_a_fresh_sign_in_are_documented(document: Json) -> None:
    asking = {
        operation["operationId"]
        for _, _, operation in operations(document)
        if "insufficient_user_authentication" in str(operation["responses"].get("401"))
    }
    assert asking == {
        *("sign_consent_form", "revoke_consent_form", "update_embryo", "delete_relationship"),
        *("merge_prospects", "delete_emr_endpoint"),
    }
    for _, _, operation in operations(document):
        words = operation.get("description", "")
        assert ("sign-in within the last 300 seconds" in words) == (operation["operationId"] in asking)


def test_members_that_may_be_missing_are_documented(document: Json) -> None:
    schemas = document["components"]["schemas"]
    missing = {
        name: set(schemas[name]["properties"]) - set(schemas[name]["required"])
        for name in ("CaseRecord", "PgtResultRecord", "SeenAbnormality")
    }
    assert set(schemas["PatientRecord"]["required"]) == {"id", "firstName", "lastName", "preferredName"}
    assert missing["CaseRecord"] == {"notes", "diagnosis"}
    assert set(schemas["EmbryoRecord"]["required"]) == {
        *("id", "patientId", "embryoCode", "status", "disposition")
    }
    assert missing["PgtResultRecord"] == {"comment", "condition"}
    assert missing["SeenAbnormality"] == {"change"}


def test_every_record_that_anybody_reads_matches_the_document(api: CheckedApi) -> None:
    """As all answers in tests/careservice/api do, of acts too."""
    for who in ("nora", "victor", "elif", "colin", "ada", "amelia", "daniel", "grace", "maya", "omar"):

        def read(path: str, who: str = who, **query: Any) -> Any:
            answer = api(who, "GET", path, **query)
            return answer.json() if answer.status_code == 200 else {"items": []}

        for form in read(CONSENTS, MaxResultCount=1000)["items"]:
            read(f"{CONSENTS}/{form['id']}")
        for protocol in read("/api/care/fertility-protocols")["items"]:
            read(f"/api/care/fertility-protocols/{protocol['id']}")
        read("/api/calendar/resources/physicians")
        read("/api/messaging/getconversations", IncludeArchived="true")
        read("/api/app/notification", MaxResultCount=1000)
        read("/api/app/notification/settings")
        for episode_id in (AMELIA_EPISODE, GRACE_EPISODE):
            episode = read(f"/api/patient-portal/episodes/{episode_id}")
            for result in episode.get("pgtResults", []):
                read(f"/api/care/pgt-results/{result['id']}")
            for file in episode.get("documents", {"files": []})["files"]:
                answer = api(who, "GET", "/api/file-management/file-descriptor/content", id=file["id"])
                assert answer.status_code in (200, 404, 501)


def test_an_answer_that_the_document_does_not_allow_is_seen(
    api: CheckedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CheckedApi, "_validators", {})
    members = api.document["components"]["schemas"]["PhysicianRecord"]["properties"]
    monkeypatch.setitem(members, "name", {"type": "integer"})
    with pytest.raises(jsonschema_rs.ValidationError):
        api("nora", "GET", "/api/calendar/resources/physicians")


def test_what_may_be_sent_is_as_written_down(document: Json) -> None:
    """Each parameter and each member of a body with its limits. After a change that is meant, WRITE_FACTS=1 writes the file anew."""
    schemas = document["components"]["schemas"]
    told: list[str] = []
    bodies: set[str] = set()
    for method, path, operation in operations(document):
        parameters = [one for one in operation["parameters"] if one["in"] == "query"]
        body = operation.get("requestBody")
        told += [f"{method} {path}", *(f"  {one['name']} {limits(one['schema'])}" for one in parameters)]
        told += (
            [f"  {'required' if body.get('required') else 'optional'} {limits(body['content'])}"]
            if body
            else []
        )
        bodies |= names_in(body, schemas)
    for name in sorted(bodies):
        schema = schemas[name]
        required = schema.get("required", ())
        members = schema.get("properties", {}).items()
        told += [name if members else f"{name} {limits(schema)}"]
        told += [f"  {member}{'!' if member in required else ''} {limits(one)}" for member, one in members]
    if os.environ.get("WRITE_FACTS"):
        SENT.write_text("\n".join(told) + "\n", encoding="utf-8")
    expected = SENT.read_text(encoding="utf-8").splitlines()
    assert not [*difflib.unified_diff(expected, told, "expected", "described", lineterm="", n=1)]


def limits(schema: Any) -> str:
    """The schema in a line, without what describes it in words."""
    return json.dumps(without_words(schema), ensure_ascii=False, sort_keys=True)


def without_words(schema: Any) -> Any:
    if isinstance(schema, list):
        return [without_words(one) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    words = ("description", "title", "examples", "example", "x-assumed")
    return {name: without_words(one) for name, one in cast("Json", schema).items() if name not in words}


def names_in(part: Any, schemas: Json) -> set[str]:
    """The schemas that a part of the document names, and those that these name."""
    found: set[str] = set()
    new = set(re.findall(r"#/components/schemas/([^\"']+)", str(part)))
    while new:
        found |= new
        new = {
            one for name in new for one in re.findall(r"#/components/schemas/([^\"']+)", str(schemas[name]))
        } - found
    return found
