"""The order in which rows are locked, everywhere: tenant, document, task, pointer, chunks, cache. And where none may be."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import connection

from documents.errors import NotFound
from documents.models import Document

_TENANT_LOCKS = 0x6B62  # first key of the two-key advisory locks of tenants


def hold_tenant(tenant_id: int) -> None:
    """Keep the tenant's pipelines as they are until this transaction ends (shared with other holders).

    Whatever comes to change them takes the exclusive lock of the same two keys.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s, %s)", [_TENANT_LOCKS, tenant_id])


def hold_tenant_alone(tenant_id: int) -> None:
    """Wait until nobody holds the tenant, and keep publishes and finishes out until this transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_TENANT_LOCKS, tenant_id])


def moment() -> datetime:
    """The database's time now. When something came into force, and how stale the rest is since, no web server's clock says;
    asked for once the locks are held, so that what came later is told as later."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def ensure_no_transaction() -> None:
    """At the door of every parser, model and storage: a lock held across slow work would stop everybody else for as long,
    and the server ends a transaction that is idle. As with Django's `durable`, the one around a test case does not count."""
    if any(not getattr(block, "_from_testcase", False) for block in connection.atomic_blocks):
        raise RuntimeError("slow work was begun inside a transaction")


def lock_document(document_id: uuid.UUID) -> Document:
    """Lock the tenant (shared) and then the document for a command. Raises `NotFound`."""
    tenant_id = Document.objects.filter(pk=document_id).values_list("tenant_id", flat=True).first()
    if tenant_id is None:
        raise NotFound
    hold_tenant(tenant_id)
    return Document.objects.select_for_update(no_key=True).get(pk=document_id)
