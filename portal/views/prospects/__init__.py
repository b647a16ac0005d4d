"""People who enquired about treatment: booking a first visit, a link to book it themselves, merging two records.

No endpoint reads such a record. What is shown comes from notifications and conversations that mention it, and from
staff's input. If a response is lost, the outcome can't be determined, so neither act is ever retried automatically.
"""

from __future__ import annotations

from flask import Blueprint

from portal.config.modules import Module
from portal.views.prospects import book, enquiries, link, merge
from portal.web.modules import whole

bp = whole(Module.BOOKING, Blueprint("prospects", __name__, url_prefix="/prospects"))
for part in (enquiries.bp, book.bp, link.bp, merge.bp):
    bp.register_blueprint(part)
