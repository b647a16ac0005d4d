# syntax=docker/dockerfile:1
# The portal only, without care service or build tools: pinned requirements, an unprivileged user, read-only files.
FROM python:3.11-slim-bookworm AS build
WORKDIR /build
# REQUIREMENTS=tracing installs OpenTelemetry, too.
ARG REQUIREMENTS=portal
COPY requirements/uv.txt requirements/portal.txt requirements/tracing.txt requirements/
RUN python -m venv --without-pip /venv \
 && python -m venv /uv \
 && /uv/bin/pip install --quiet --no-cache-dir --require-hashes -r requirements/uv.txt \
 && VIRTUAL_ENV=/venv /uv/bin/uv pip install --quiet --no-cache --compile-bytecode --require-hashes -r "requirements/${REQUIREMENTS:-portal}.txt"
COPY static static
COPY portal portal
RUN /venv/bin/python -m portal.web.static \
 && /venv/bin/pybabel --quiet compile --directory portal/i18n/translations \
 && /venv/bin/python -m compileall -q portal

FROM python:3.11-slim-bookworm
ARG VERSION=
ENV PORTAL_VERSION=$VERSION
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PORTAL_BIND=0.0.0.0:8000
# WeasyPrint, which makes PDFs, needs the system's Pango. Unpinned, because Debian keeps only the latest patched version.
# pip and its tools are removed, because nothing is installed after this.
# hadolint ignore=DL3008
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 \
 && rm -rf /var/lib/apt/lists/* \
 && python -m pip uninstall --quiet --yes --root-user-action=ignore pip setuptools wheel \
 && rm -rf /usr/local/lib/python3.11/ensurepip
# The only writable folder, for a store in a file. Everything else that is written (heartbeats, metrics, PDFs) goes to /dev/shm.
RUN install -d -o 10001 -g 10001 -m 0700 /var/lib/portal
WORKDIR /srv/portal
COPY --from=build /venv /venv
COPY wsgi.py gunicorn.conf.py ./
COPY templates templates
COPY --from=build /build/static static
COPY --from=build /build/portal portal
USER 10001:10001
VOLUME /var/lib/portal
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=3s --start-period=10s \
  CMD ["python", "-m", "portal.operate.health_check"]
CMD ["gunicorn", "wsgi:app"]
