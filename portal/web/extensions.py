"""Flask's extensions, made here and bound to the application in `portal.app`."""

from __future__ import annotations

from typing import Any, cast

from flask import request
from flask_babel import Babel
from flask_limiter import Limiter
from flask_wtf.csrf import CSRFProtect

babel = cast("Any", Babel())
csrf = cast("Any", CSRFProtect())
limiter = Limiter(key_func=lambda: request.remote_addr or "", headers_enabled=False, storage_uri="memory://")
