"""A read after an act that the API answered without the record never looks like a refusal of the act."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portal import services
from portal.services import consents, conversations, notifications, protocols
from portal.services.consents.forms import ConsentDraft, ConsentKind, SignerRole, SigningOrder
from portal.services.consents.requests import NewSignature
from portal.services.errors import (
    BadResponse,
    CareError,
    CircuitOpen,
    Conflict,
    NotAllowed,
    NotFound,
    NotOffered,
    NotSignedIn,
    Refused,
    Unavailable,
)
from portal.services.notifications import NotificationSettings
from portal.services.protocols import Protocol, ProtocolStatus

ACTS: dict[str, Callable[[Any], object]] = {
    "create_consent": lambda care: consents.create_consent(
        care,
        ConsentDraft(
            patient_id="p",
            title="Storage",
            kind=ConsentKind.STORAGE,
            version="1",
            body=(),
            statements=(),
            required_signers=(),
            signing_order=SigningOrder.ANY,
        ),
    ),
    "sign_consent": lambda care: consents.sign_consent(
        care,
        "c",
        NewSignature(
            signer_role=SignerRole.PATIENT,
            signature="Amelia Hart",
            acknowledged_statement_ids=(),
            content_hash="h",
            concurrency_stamp="s",
        ),
    ),
    "revoke_consent": lambda care: consents.revoke_consent(care, "c", reason="Changed our minds", stamp="s"),
    "update_protocol": lambda care: protocols.update_protocol(
        care, "p", protocol=Protocol(id="p", name="Long", status=ProtocolStatus.DRAFT)
    ),
    "archive_conversations": lambda care: conversations.archive_conversations(care, ["c"]),
    "update_settings": lambda care: notifications.update_settings(care, NotificationSettings()),
}
ERRORS = [
    NotSignedIn(),
    NotAllowed(),
    Refused("OutOfOrder"),
    NotFound(),
    Conflict(),
    NotOffered(about_record=True),
    Unavailable("timed out"),
    CircuitOpen(5),
    BadResponse("$"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("act", ACTS)
def test_a_failed_read_after_an_act_makes_its_outcome_unknown(care: Any, act: str, error: CareError) -> None:
    care.answers.extend([None, error])
    with pytest.raises(Unavailable) as raised:
        ACTS[act](care)
    assert not raised.value.outcome_known
    assert not raised.value.is_undone
    assert not isinstance(raised.value, CircuitOpen)
    assert raised.value.__cause__ is error


@pytest.mark.parametrize("act", ACTS)
def test_a_refused_act_stays_a_refusal(care: Any, act: str) -> None:
    care.answers.append(Refused("OutOfOrder"))
    with pytest.raises(Refused):
        ACTS[act](care)


def test_every_read_after_an_act_goes_through_read_back() -> None:
    unguarded: list[str] = []
    reading: set[str] = set()
    for path in sorted(Path(services.__path__[0]).rglob("*.py")):
        functions = [
            node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)
        ]
        for function in functions:
            if not any(_called(node) == "care.act" for node in ast.walk(function)):
                continue
            guarded = {
                inner
                for call in ast.walk(function)
                if _called(call) == "read_back"
                for inner in ast.walk(call)
            }
            reads = [node for node in ast.walk(function) if _calls_with_care(node)]
            unguarded += [f"{path.name}: {function.name}" for node in reads if node not in guarded]
            reading |= {function.name} if reads else set()
    assert not unguarded, f"hand the read to read_back: {unguarded}"
    assert reading == ACTS.keys(), "every function that reads after its act must be in ACTS"


def _called(node: ast.AST) -> str:
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def _calls_with_care(node: ast.AST) -> bool:
    """Whether it calls the API in any way but as an act."""
    if not isinstance(node, ast.Call) or _called(node) == "care.act":
        return False
    return _called(node).startswith("care.") or any(
        isinstance(argument, ast.Name) and argument.id == "care" for argument in node.args
    )
