"""The portal for WSGI servers: `gunicorn wsgi:app`, configured by the environment (README: configuration)."""

from portal.app import create_app
from portal.config.settings import Settings

app = create_app(Settings.from_env())
