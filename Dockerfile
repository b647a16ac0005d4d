# syntax=docker/dockerfile:1
# The portal alone: no care service, no tools. Built from the pinned requirements, run as nobody, files read-only.
FROM python:3.11-slim AS build
WORKDIR /build
COPY requirements/uv.txt requirements/portal.txt requirements/
RUN python -m venv /venv \
 && python -m venv /uv \
 && /uv/bin/pip install --quiet --no-cache-dir --require-hashes -r requirements/uv.txt \
 && VIRTUAL_ENV=/venv /uv/bin/uv pip install --quiet --no-cache --compile-bytecode --require-hashes -r requirements/portal.txt
COPY static static
COPY portal portal
RUN /venv/bin/python -m portal.web.static \
 && /venv/bin/pybabel --quiet compile --directory portal/translations

FROM python:3.11-slim
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PORTAL_BIND=0.0.0.0:8000
# WeasyPrint, which makes PDFs, needs Pango of the system.
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 \
 && rm -rf /var/lib/apt/lists/*
RUN useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin portal \
 && install -d -o portal -g portal -m 0700 /var/lib/portal
WORKDIR /srv/portal
COPY --from=build /venv /venv
COPY wsgi.py gunicorn.conf.py ./
COPY templates templates
COPY portal portal
COPY --from=build /build/static static
COPY --from=build /build/portal/translations portal/translations
RUN rm -rf portal/careservice && python -m compileall -q portal wsgi.py
USER 10001
VOLUME /var/lib/portal
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=3s --start-period=10s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
CMD ["gunicorn", "wsgi:app"]
