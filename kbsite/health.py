"""For load balancers and the demo: is the process up, and can it serve?"""

from __future__ import annotations

from django.db import DatabaseError, OperationalError, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse

_migrated = False  # once seen, migrations stay applied; looking at them each time reads every migration file


def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return JsonResponse({"status": "up"})


def readyz(request: HttpRequest) -> HttpResponse:
    """The database answers and has every migration; 503 with the reason otherwise."""
    global _migrated
    try:
        connection = connections["default"]
        connection.ensure_connection()
        if not connection.is_usable():
            connection.close()
            raise OperationalError("the connection is broken")
        if not _migrated:
            executor = MigrationExecutor(connection)
            if executor.migration_plan(executor.loader.graph.leaf_nodes()):
                return JsonResponse({"status": "migrations are not applied"}, status=503)
            _migrated = True
    except DatabaseError:
        return JsonResponse({"status": "the database cannot be reached"}, status=503)
    return JsonResponse({"status": "ready"})
