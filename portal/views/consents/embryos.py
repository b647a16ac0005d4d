"""The embryos that a form names, from its episode; they are part of what is signed, so they are shown with the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from portal.services.client import Care
from portal.services.consents.forms import NAMING_KINDS, ConsentForm
from portal.services.episodes import Episode, get_episode
from portal.services.gather import attempt, known
from portal.views.embryo_view import told_apart


def episode_of(care: Care, form: ConsentForm) -> Episode | None:
    """The form's episode, if it shows embryos that the form names or what has been carried out of it."""
    episode_id = form.episode_id
    is_used = form.is_signed and form.kind in NAMING_KINDS
    if not episode_id or not (form.embryo_storage_ids or is_used):
        return None
    return known(attempt(lambda: get_episode(care, episode_id)))


def names_in(form: ConsentForm, episode: Episode | None) -> list[str]:
    """The codes of the form's embryos; the id if the code can't be read."""
    return named(form.embryo_storage_ids or (), codes_in(episode))


def named(ids: Iterable[str], codes: Mapping[str, str]) -> list[str]:
    return [codes.get(id_, id_) for id_ in ids]


def read_codes(care: Care, form: ConsentForm, before: Iterable[str] = ()) -> Mapping[str, str]:
    """The codes of the embryos that the form names, or has named `before`, by id; empty if they can't be read."""
    episode_id = form.episode_id
    if not episode_id or not (form.embryo_storage_ids or tuple(before)):
        return {}
    return codes_in(known(attempt(lambda: get_episode(care, episode_id))))


def codes_in(episode: Episode | None) -> Mapping[str, str]:
    """The codes of the episode's embryos by id, those of one code told apart."""
    if episode is None:
        return {}
    return {view.embryo.id: view.code for view in told_apart((one, episode) for one in episode.embryos)}


def embryo_names(care: Care, form: ConsentForm) -> list[str]:
    """The codes of the form's embryos, with its episode read if it names any."""
    return named(form.embryo_storage_ids or (), read_codes(care, form))
