"""gunicorn's settings for the portal: some from environment variables, which portal/config/variables.py declares."""

import os
import runpy
import sys
from pathlib import Path

from portal.operate import scratch, supervisor

# Run, not imported: at a reload these are the new version's.
_VARIABLES = runpy.run_path(str(Path(__file__).parent / "portal" / "config" / "variables.py"))["DECLARED"]


def _given(field):
    """The variable's value; its default where it is wrong, which check_settings reports."""
    variable = _VARIABLES[field]
    try:
        return variable.parse(os.environ.get(variable.name) or str(variable.default))
    except ValueError:
        return variable.default


bind = [_given("bind"), *filter(None, [_given("health_bind")])]
# An event loop reads requests and writes responses, so that a slow client doesn't occupy a thread.
worker_class = "portal.server.worker.Worker"
workers = _given("workers")
threads = _given("threads")
# Keeps the process below 1024 file descriptors: libcurl's select() can't handle higher ones.
worker_connections = 800
# Longer than the page deadline of 10 s plus a slow identity server; a worker that hangs is replaced.
timeout = _given("worker_timeout")
graceful_timeout = 30
keepalive = 15
# Workers are recycled from time to time, but not all at once.
max_requests = _given("max_requests")
max_requests_jitter = max_requests // 10
# In memory, so that the heartbeat never waits for a disk.
worker_tmp_dir = scratch.MEMORY
# The portal itself decides which proxies to trust for scheme and host: PORTAL_PROXY_HOPS.
forwarded_allow_ips = ""
# No control socket in the home directory.
control_socket_disable = True
# The portal writes its own access log, with the route's template instead of the address.
accesslog = None
# Formats gunicorn's own log lines like the portal's.
logger_class = "portal.operate.gunicorn_logger.Logger"
limit_request_line = 8190


def on_starting(server):
    supervisor.check_settings(server)
    supervisor.defer_listening()


def when_ready(server):
    supervisor.prepare_reload(server)


def post_fork(server, worker):
    supervisor.prepare_worker(server, worker)


def post_worker_init(worker):
    # In the worker alone: the master loads no portal code.
    from portal import metrics, tracing
    from portal.views.health import PATHS
    from portal.web.headers import FIXED, OVER_TLS
    from portal.web.routing import tenant_of

    tracing.begin()
    metrics.worker_started(threads=worker.cfg.threads)
    worker.on_check, worker.express_paths = supervisor.tidied(metrics.worker), PATHS
    worker.express_listener = supervisor.listener_of_checks(worker) if _given("health_bind") else None
    worker.tenant_of = tenant_of(worker.wsgi)
    worker.error_headers, worker.error_headers_over_tls = FIXED, FIXED | OVER_TLS
    supervisor.settle(worker)


def worker_exit(server, worker):
    # In the worker as a rule; in the master for one that it didn't find. A worker that fails raises, one that hangs exits with 1.
    if worker.pid == os.getpid() and getattr(sys.exception(), "code", 1) == 0:
        from portal import metrics

        metrics.worker_stopped()


def child_exit(server, worker):
    supervisor.forget_worker(worker)


def on_exit(server):
    supervisor.remove_scratch(server)
