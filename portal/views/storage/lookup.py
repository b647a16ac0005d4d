"""Finding a stored embryo."""

from __future__ import annotations

from portal.services.client import Care
from portal.services.episodes import Episode
from portal.services.storage import EmbryoStorage
from portal.state.session_records import Person
from portal.views.embryo_view import EmbryoView, told_alone, told_apart
from portal.views.episodes.lookup import find_embedded


def find_embryo(care: Care, person: Person, embryo_id: str) -> EmbryoView:
    """Return the embryo with its episode, named as where it stands alone.

    Raises NotFound if no episode has it, Unavailable if one that may have it can't be read.
    """

    def of_id(episode: Episode) -> EmbryoStorage | None:
        return next((embryo for embryo in episode.embryos if embryo.id == embryo_id), None)

    episode, embryo = find_embedded(care, person, of_id, within="Episode.embryos")
    views = told_apart((other, episode) for other in episode.embryos)
    return told_alone(next(view for view in views if view.embryo.id == embryo.id))
