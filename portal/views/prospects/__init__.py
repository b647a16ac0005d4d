"""People who asked about treatment: booking a first window, a link to book it themselves, merging two records.

No endpoint reads such a record. What can be shown comes from the notifications and conversations that name it, and
from what staff enter; and after a lost answer nobody can tell, so neither act is ever sent again by itself.
"""

from __future__ import annotations

from flask import Blueprint

from portal.views.prospects import book, link, merge

bp = Blueprint("prospects", __name__, url_prefix="/prospects")
for part in (book.bp, link.bp, merge.bp):
    bp.register_blueprint(part)
