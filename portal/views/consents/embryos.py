"""The embryos that a form names, from its episode or others; they are part of what is signed, so they are shown with the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from portal.services.client import Care
from portal.services.consents.forms import NAMING_KINDS, ConsentForm
from portal.services.episodes import Episode, get_episode
from portal.services.found_episodes import Found, read_episodes
from portal.services.gather import attempt, known
from portal.views.embryo_view import told_alone, told_apart
from portal.views.episodes.lookup import remembered


def episode_of(care: Care, form: ConsentForm) -> Episode | None:
    """The form's episode, if it shows embryos that the form names or what has been carried out of it."""
    episode_id = form.episode_id
    is_used = form.is_signed and form.kind in NAMING_KINDS
    if not episode_id or not (form.embryo_storage_ids or is_used):
        return None
    return known(attempt(lambda: get_episode(care, episode_id)))


def names_in(care: Care, form: ConsentForm, episode: Episode | None) -> list[str]:
    """The codes of the form's embryos; the id if the code can't be read."""
    ids = form.embryo_storage_ids or ()
    return named(ids, _codes_of(care, ids, episode, form.episode_id))


def named(ids: Iterable[str], codes: Mapping[str, str]) -> list[str]:
    return [codes.get(id_, id_) for id_ in ids]


def read_codes(care: Care, form: ConsentForm, before: Iterable[str] = ()) -> Mapping[str, str]:
    """The codes of the embryos that the form names, or has named `before`, by id; empty if they can't be read."""
    ids, episode_id = (*(form.embryo_storage_ids or ()), *before), form.episode_id
    if not ids:
        return {}
    episode = known(attempt(lambda: get_episode(care, episode_id))) if episode_id else None
    return _codes_of(care, ids, episode, episode_id)


def codes_in(episode: Episode) -> Mapping[str, str]:
    """The codes of the episode's embryos by id, those of one code told apart."""
    views = told_apart((embryo, episode) for embryo in episode.embryos)
    return {view.embryo.id: view.code for view in views}


def _codes_of(
    care: Care, ids: Iterable[str], episode: Episode | None, episode_id: str | None
) -> Mapping[str, str]:
    """The codes in this episode and, if it doesn't have all these embryos, in the others that this person had before them.

    Each as where it stands alone: a treatment that wasn't read may have another embryo of its code.
    """
    found = Found((episode,) if episode else ())
    if not {embryo.id for embryo, _episode in found.embryos}.issuperset(ids):
        found = found.with_more(read_episodes(care, [id_ for id_ in remembered() if id_ != episode_id]))
    return {view.embryo.id: told_alone(view).code for view in told_apart(found.embryos)}


def embryo_names(care: Care, form: ConsentForm) -> list[str]:
    """The codes of the form's embryos, with its episode read if it names any."""
    return named(form.embryo_storage_ids or (), read_codes(care, form))
