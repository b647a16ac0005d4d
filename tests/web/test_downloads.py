"""Limits on concurrent downloads, and that finished ones stop counting."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import time
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from portal.views import files
from portal.web import downloads
from portal.web.downloads import Download, Downloads, TooManyDownloads

FILE = f"/files/{sample_id('file', 'amelia-plan')}"


def test_downloads_are_limited_per_person_per_address_and_in_total() -> None:
    some = Downloads(most=5, by_address=3, by_person=2)
    first = some.begin("amelia", "192.0.2.1")
    some.begin("amelia", "192.0.2.2")
    with pytest.raises(TooManyDownloads):
        some.begin("amelia", "192.0.2.3")
    first()
    first()
    some.begin("amelia", "192.0.2.3")
    for number in range(3):
        some.begin(f"another {number}", "192.0.2.9")
    with pytest.raises(TooManyDownloads):
        some.begin("one more", "192.0.2.4")


def test_people_on_one_address_share_its_download_limit() -> None:
    some = Downloads(by_address=2)
    for number in range(2):
        some.begin(f"person {number}", "192.0.2.1")
    with pytest.raises(TooManyDownloads):
        some.begin("another", "192.0.2.1")
    some.begin("another", "192.0.2.2")


def test_an_abandoned_download_stops_counting_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    some = Downloads(by_person=1)
    some.begin("amelia", "192.0.2.1")
    monkeypatch.setattr(downloads, "LONGEST", -1.0)
    some.begin("amelia", "192.0.2.1")


def test_a_download_is_released_once() -> None:
    ended: list[str] = []
    one = Download(iter([b"a"]), lambda: ended.append("file"), lambda: ended.append("count"))
    assert list(one) == [b"a"]
    one.close()
    one.close()
    assert ended == ["file", "count"]


def test_one_download_too_many_is_refused_with_an_explanation(
    amelia: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = Downloads(by_person=1)
    monkeypatch.setattr(files, "downloads", some)
    for _ in range(3):
        amelia.get(FILE)
        _wait_for_the_end(some)
        amelia.request("HEAD", FILE)
        _wait_for_the_end(some)
    tag = amelia.get(FILE).headers["ETag"]
    _wait_for_the_end(some)
    amelia.get(FILE, status=304, headers={"If-None-Match": tag})
    _wait_for_the_end(some)
    amelia.get(f"/files/{sample_id('file', 'nowhere')}", status=404)
    monkeypatch.setattr(files, "downloads", Downloads(by_person=0))
    page = amelia.get(FILE, status=503)
    assert page.headers["Retry-After"] == "30"
    assert "Too many files at once" in page.text


def _wait_for_the_end(some: Downloads) -> None:
    """A server notices a little after the reader that a file has ended."""
    until = time.monotonic() + 30
    while some._begun:
        assert time.monotonic() < until, "a file never ended"
        time.sleep(0.005)
