"""The portal for WSGI servers: `gunicorn wsgi:app`, configured by the environment (docs/configuration.md)."""

from flask.cli import NoAppException

from portal.app import create_app
from portal.config.settings import Settings, SettingsError

try:
    _settings = Settings.from_env()
except SettingsError as error:
    # `flask --app wsgi` shows only this exception's message; gunicorn also shows its cause.
    raise NoAppException(
        "The portal's settings are wrong or missing (docs/configuration.md; `make dev` sets its own):\n"
        + "\n".join(error.faults)
    ) from error

app = create_app(_settings)
