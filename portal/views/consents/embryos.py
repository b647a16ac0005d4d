"""The codes of the embryos that a form names; they are part of what is signed, so they are shown with the text."""

from __future__ import annotations

from portal.services.client import Care
from portal.services.episodes import get_episode
from portal.services.gather import gather, known
from portal.services.records.consents import ConsentForm


def embryo_names(care: Care, form: ConsentForm) -> list[str]:
    """The codes of the form's embryos, from its episode; the id if the code can't be read."""
    ids = form.embryo_storage_ids or ()
    episode_id = form.episode_id
    if not ids:
        return []
    episode = known(gather(lambda: get_episode(care, episode_id))[0]) if episode_id else None
    codes = {embryo.id: embryo.embryo_code for embryo in episode.embryos} if episode else {}
    return [codes.get(id_, id_) for id_ in ids]
