"""The language of a form's text, and how somebody whose screen was in another language read it.

Forms of before stay without a language, since nobody has said it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "v0014"
down_revision = "v0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("consent_forms", sa.Column("language", sa.String(length=35), nullable=True))
    op.add_column("consent_signatures", sa.Column("screen_language", sa.String(length=35), nullable=True))
    op.add_column("consent_signatures", sa.Column("reading_mode", sa.String(length=32), nullable=True))
