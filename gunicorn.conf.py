"""How gunicorn runs the portal: sound defaults, each to be changed by a variable of the environment."""

import os

from portal.operate import scratch, supervisor


def _number(name: str, default: int) -> int:
    return int(os.environ.get(name) or default)


bind = os.environ.get("PORTAL_BIND", "127.0.0.1:8000")
# One loop reads requests whole and writes to slow clients, so that neither keeps a thread.
worker_class = "portal.server.worker.Worker"
workers = _number("PORTAL_WORKERS", 2)
threads = _number("PORTAL_THREADS", 8)
# Fewer than 1024 file descriptors in all: libcurl's select() knows no others.
worker_connections = 800
# Longer than the page deadline of 10 s and a slow identity server together; a worker that hangs is replaced.
timeout = _number("PORTAL_WORKER_TIMEOUT", 60)
graceful_timeout = 30
keepalive = 15
# Workers are renewed now and then, not all at once.
max_requests = _number("PORTAL_MAX_REQUESTS", 20000)
max_requests_jitter = max_requests // 10
# The heartbeat file must not wait for a disk.
worker_tmp_dir = scratch.MEMORY
# Which addresses may say over which scheme and host a request came is the portal's own setting: PORTAL_PROXY_HOPS.
forwarded_allow_ips = ""
# No control socket in the home folder.
control_socket_disable = True
# The portal writes its own access log, with the route's template instead of the address.
accesslog = None
# gunicorn's own lines in the form of the portal's.
logger_class = "portal.operate.gunicorn_logger.Logger"
limit_request_line = 8190


def on_starting(server):
    supervisor.check_settings(server)


def when_ready(server):
    supervisor.prepare_reload(server)


def pre_fork(server, worker):
    supervisor.assign_slot(server, worker)


def post_fork(server, worker):
    supervisor.prepare_worker(server, worker)


def post_worker_init(worker):
    supervisor.settle(worker)


def child_exit(server, worker):
    supervisor.forget_worker(worker)


def on_exit(server):
    supervisor.remove_scratch(server)
