"""Spanish: opening punctuation, decimal commas, and the care service's terms."""

from __future__ import annotations

import re

from portal.careservice.ids import sample_id
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor

AMELIAS = f"/episodes/{sample_id('episode', 'amelia-1')}"
GRACES = sample_id("episode", "grace-2")


def speaking(portal: PortalThread, name: str) -> Visitor:
    visitor = portal.sign_in(name)
    visitor.post("/language", {"language": "es", "next": "/"})
    return visitor


def storage_of(code: str, decision: str = "") -> str:
    return f"/storage/{sample_id('embryo', code)}{decision}?episode={GRACES}"


def test_an_embryos_states_are_shown_in_spanish_to_staff(portal: PortalThread) -> None:
    page = speaking(portal, "elif").get(storage_of("GO-3"))
    offered = [label.words for label in page.select('label[for^="status"]')]
    assert {"Conservado", "Reservado"} <= set(offered)
    withheld = {term.words for term in page.select("main dt")}
    assert {"Descartado (definitivo)", "Enviado a otro centro (definitivo)"} <= withheld
    assert not re.search(r"\b(Stored|Reserved|Discarded|Shipped)\b", page.words)


def test_roles_are_translated(portal: PortalThread) -> None:
    assert "Embriología" in speaking(portal, "elif").get("/me").words
    team = speaking(portal, "amelia").get(AMELIAS + "/team").words
    assert "Enfermería" in team and "Nurse" not in team


def test_a_spanish_question_has_its_opening_mark(portal: PortalThread) -> None:
    assert (
        speaking(portal, "grace").get(storage_of("GO-3", "/keep")).heading == "¿Mantenerlo en conservación?"
    )


def test_sizes_with_decimal_commas_are_separated_by_semicolons(portal: PortalThread) -> None:
    cells = speaking(portal, "amelia").get(AMELIAS + "/monitoring").select('td[data-label^="Ovario"]')
    assert any(re.search(r"\d,\d; \d", cell.text_content()) for cell in cells)
    assert not any(", " in cell.text_content() for cell in cells)


def test_visits_and_medicines_use_the_same_time_format(portal: PortalThread) -> None:
    words = speaking(portal, "amelia").get(AMELIAS).words
    assert re.search(r"\b09:30\b", words) and "08:00" in words
    assert not re.search(r"(?<!\d)\d:\d\d\b", words)
