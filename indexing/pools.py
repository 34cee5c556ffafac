"""Pools: which workers take which tasks. A tenant with a pool of its own takes nobody else's workers, and nobody its own."""

from __future__ import annotations

import re

from django.db import transaction
from django.utils.translation import gettext as _

from documents.errors import InvalidInput
from documents.locks import hold_tenant_alone
from indexing import queue
from indexing.models import TenantPool
from indexing.states import Pool

NAME = re.compile(r"[a-z][a-z0-9-]{0,19}")
BATCH = 1000  # tasks moved in one transaction
UNATTENDED_SECONDS = 60.0  # a first task that waits for longer while nothing runs has no worker


def is_name(name: str) -> bool:
    return NAME.fullmatch(name) is not None


def known_pools() -> list[str]:
    """Pools that tasks are put into: everybody's, bulk runs', and tenants' own."""
    own = TenantPool.objects.order_by("pool").values_list("pool", flat=True).distinct()
    return list(dict.fromkeys([*map(str, Pool), *own]))


def give_own_pool(*, tenant_id: int, pool: str) -> int:
    """Give a tenant a pool of its own and move its waiting tasks there; what runs comes after it. Returns how many moved.

    `pool` “online” is everybody's: the tenant has none of its own any more. Raises `InvalidInput`.
    """
    if not is_name(pool) or pool == Pool.BULK:
        raise InvalidInput(
            _(
                "A pool's name has up to 20 lower-case letters, digits and hyphens, begins with a letter, and is not “bulk”."
            )
        )
    with transaction.atomic():
        hold_tenant_alone(tenant_id)  # a publish that has read the old pool commits first, and its task is moved too
        if pool == Pool.ONLINE:
            TenantPool.objects.filter(tenant=tenant_id).delete()
        else:
            TenantPool.objects.update_or_create(tenant_id=tenant_id, defaults={"pool": pool})
    moved = 0
    while some := queue.move_waiting(tenant_id=tenant_id, limit=BATCH):
        moved += some
    return moved


def unattended() -> dict[str, int]:
    """Pools whose tasks wait without a worker, with how many wait there (counted up to 1000)."""
    return queue.unattended_pools(pools=known_pools(), seconds=UNATTENDED_SECONDS)
