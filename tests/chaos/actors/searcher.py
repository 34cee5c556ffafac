"""Searches without a pause as many users, and writes down what each was shown and when (`tests.chaos.judge` reads it)."""

from __future__ import annotations

import json
import time

from tests.chaos import oracle, plan
from tests.chaos.actors.acting import Stage, act


def search(stage: Stage) -> None:
    from django.db import connection

    from documents.outages import is_outage
    from indexing.search import search as ask

    users = [(tenant, name) for tenant in plan.TENANTS for name in plan.members(tenant)]
    with (stage.folder / f"{stage.name}.searches").open("a", encoding="utf-8") as file:
        while not stage.stopped.is_set():
            tenant, name = stage.rng.choice(users)
            user = stage.person(name)
            query = " ".join(stage.rng.sample(oracle.WORDS, 2)) if stage.rng.random() < 0.8 else "住宿审批"
            began = time.monotonic()
            try:
                answer = ask(user=user, tenant=tenant, query=query, limit=50)
            except Exception as error:
                if not is_outage(error):
                    raise
                connection.close()
                stage.pause(0.1)
                continue
            hits = [(str(hit.document_id), hit.version_number, hit.snippet) for hit in answer.hits]
            line = {"tenant": tenant, "user": name, "began": began, "ended": time.monotonic(), "hits": hits}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            stage.pause(0.15)


if __name__ == "__main__":
    act(search)
