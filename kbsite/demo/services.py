"""The processes of a running demo: web server, worker and scheduler."""

from __future__ import annotations

import json
import socket
import sys
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

from django.conf import settings

from indexing.supervisor import Child
from kbsite.demo.folder import DataFolder

HOST = "127.0.0.1"
MANAGE = [sys.executable, str(Path(settings.BASE_DIR) / "manage.py")]


def services(folder: DataFolder, *, port: int) -> list[Child]:
    """What is kept running; each writes to a log of its own, so that the terminal stays readable."""
    gunicorn = [sys.executable, "-m", "gunicorn", "kbsite.wsgi", "--bind", f"{HOST}:{port}"]
    gunicorn += [
        "--chdir",
        str(settings.BASE_DIR),
        "--config",
        str(settings.BASE_DIR / "kbsite" / "gunicorn_config.py"),
    ]
    return [
        Child("web", gunicorn, log=folder.log("web"), environment={"PYTHONPATH": str(settings.BASE_DIR)}),
        Child("worker", [*MANAGE, "run_index_worker"], log=folder.log("worker")),
        Child("scheduler", [*MANAGE, "run_scheduler"], log=folder.log("scheduler")),
    ]


def drain(folder: DataFolder) -> Child:
    """A worker that ends once nothing is due, and then has its counts in `output`."""
    command = [*MANAGE, "run_index_worker", "--drain", "--format", "json"]
    return Child("worker", command, log=folder.log("worker"), keep_output=True, may_end=True)


def counts(child: Child) -> Counter[str]:
    """What a worker's rounds came to, by result."""
    return Counter(json.loads(child.output)) if child.output else Counter()


def is_free(port: int) -> bool:
    """Whether the web server could listen there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gunicorn does: closed connections do not count
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def is_ready(port: int) -> bool:
    """Whether the web server answers that it can serve."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
