"""Folders over HTTP: the tree, and moving one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from portal.services.errors import Unavailable
from portal.views import directories
from tests.support.visitor import Page, SignIn, Visitor

EPISODE = sample_id("episode", "amelia-1")
LETTERS = sample_id("directory", "amelia-letters")
RESULTS = sample_id("directory", "amelia-results")
SCANS = sample_id("directory", "amelia-scans")
ARCHIVE = sample_id("directory", "amelia-archive")


def moving(visitor: Visitor, directory: str) -> Page:
    return visitor.get(f"/directories/{directory}/move?episode={EPISODE}")


def depth(visitor: Visitor, name: str) -> int:
    rows = visitor.get(f"/directories?episode={EPISODE}").select("ul.folders > li")
    return next(int(str(row["data-depth"])) for row in rows if name in row.text_content())


def test_a_folder_cannot_be_moved_into_itself_its_subfolders_or_its_own_place(nora: Visitor) -> None:
    page = moving(nora, RESULTS)
    closed = {str(radio["value"]) for radio in page.select("input[name=to][disabled]")}
    assert closed == {"root", RESULTS, SCANS, sample_id("directory", "amelia-bloods")}
    assert "Inside this folder" in page.words


def test_a_forged_move_into_the_folder_itself_is_refused_with_an_explanation(nora: Visitor) -> None:
    form = moving(nora, RESULTS).form(f"/directories/{RESULTS}/move")
    assert "Inside this folder" in form.submit(to=SCANS, status=403).words


def test_submitting_without_a_folder_is_an_error(nora: Visitor) -> None:
    page = moving(nora, SCANS).form(f"/directories/{SCANS}/move").submit(status=422)
    assert page.tree.select_one(".error-summary a")["href"] == "#to"


def test_a_folder_moves_and_moves_back(nora: Visitor) -> None:
    assert depth(nora, "Scans") == 2
    page = moving(nora, SCANS).form(f"/directories/{SCANS}/move").submit(to="root")
    assert "“Scans” was moved." in page.text
    assert depth(nora, "Scans") == 1
    undo = page.form(page.select("#toasts form")[0])
    undo.submit()
    assert depth(nora, "Scans") == 2


def test_ten_posts_of_one_form_move_it_once(nora: Visitor) -> None:
    form = moving(nora, ARCHIVE).form(f"/directories/{ARCHIVE}/move")
    with ThreadPoolExecutor(5) as pool:
        ends = list(pool.map(lambda _: form.submit(to="root", status=None), range(10)))
    assert {end.heading for end in ends} == {"Folders"}
    assert depth(nora, "Archive") == 1


def test_a_lost_response_is_resolved_from_the_tree(nora: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    move = directories.move_directory
    is_moved = False

    def lost(*args: Any, **how: Any) -> None:
        if is_moved:
            move(*args, **how)
        raise Unavailable("reset", outcome_known=False)

    monkeypatch.setattr(directories, "move_directory", lost)
    form = moving(nora, SCANS).form(f"/directories/{SCANS}/move")
    assert "We couldn’t confirm that it was moved" in form.submit(to=LETTERS, status=503).words
    is_moved = True
    page = form.submit(to=LETTERS)
    assert "“Scans” was moved." in page.text
    monkeypatch.undo()
    page.form(page.select("#toasts form")[0]).submit()
    assert depth(nora, "Scans") == 2


def test_a_folder_that_someone_moved_meanwhile_is_not_moved_again(nora: Visitor, person: SignIn) -> None:
    victor = person("victor")
    stale = moving(nora, ARCHIVE).form(f"/directories/{ARCHIVE}/move")
    moving(victor, ARCHIVE).form(f"/directories/{ARCHIVE}/move").submit(to=RESULTS)
    page = stale.submit(to=LETTERS, status=409)
    assert "Someone changed this folder meanwhile" in page.words
    again = page.form(f"/directories/{ARCHIVE}/move").submit(to=LETTERS)
    assert again.heading == "Folders"


@pytest.mark.parametrize(
    "path",
    [
        f"/directories/{SCANS}/move",
        "/directories",
        "/directories?episode=nothing",
        f"/directories/nothing/move?episode={EPISODE}",
    ],
)
def test_a_folder_without_its_episode_is_not_found(nora: Visitor, path: str) -> None:
    nora.get(path, status=404)
