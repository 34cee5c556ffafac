"""The protocol in plain Python: what each step is answered and what stands afterwards. No database, no clock, no chance.

`tests/db/test_state_machine.py` drives the product beside it. An answer is "ok", "lost" (the lease), "refused" (a command of a
person), "database" (a guard of the database) or the code of an indexing error; a refused step changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

WAITING = ("PENDING", "RETRY_WAIT", "DEAD")
SIZES = (2, 3)  # chunks in the two contents that an attempt may make of one version

SetKey = tuple[int, int, int, int]  # document, version, pipeline, generation
TaskKey = tuple[int, int, int, int, str]  # the same and the type


@dataclass
class Task:
    state: str = "PENDING"
    attempts: int = 0
    failures: int = 0
    alive: bool = False  # RUNNING, and the lease is not over
    due: bool = False  # RETRY_WAIT, and its time has come
    wish: bool = False
    readers_requested: bool = True
    code: str | None = None

    def move(self, state: str, code: str | None = None) -> None:
        self.state, self.code, self.alive, self.due = state, code, False, False


@dataclass
class Doc:
    tenant: int
    latest: int = 1
    requested: int | None = None
    published: int | None = None
    policy: str = "serve_previous"
    serve_from: int = 0
    withdrawn: bool = False
    deleted: bool = False
    purged: bool = False
    readers: dict[int, bool] = field(default_factory=dict)  # by version: everybody, or nobody


@dataclass
class Model:
    """`budget`: failures that make a task DEAD. Pipeline 0 serves, pipeline 1 is being built or retired."""

    budget: int
    docs: list[Doc]
    building: dict[int, bool]  # by tenant
    tasks: dict[TaskKey, Task] = field(default_factory=dict)
    pointers: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    chunks: dict[SetKey, dict[int, int]] = field(default_factory=dict)  # which content stands at each ordinal
    cached: dict[int, set[str]] = field(default_factory=dict)  # texts with a known vector, by tenant
    texts: dict[int, set[str]] = field(default_factory=dict)  # texts noted for a document

    # what people do

    def new_version(self, doc: int) -> str:
        if self.docs[doc].deleted:
            return "refused"
        self.docs[doc].latest += 1
        return "ok"

    def publish(self, doc: int, version: int, readers: bool | None) -> str:
        found = self.docs[doc]
        if found.deleted or version > found.latest or version < (found.requested or 0):
            return "refused"
        if readers is None and found.requested is None:
            return "refused"
        found.readers[version] = found.readers[found.requested or 0] if readers is None else readers
        if found.withdrawn or found.policy == "withhold":
            found.serve_from = max(found.serve_from, version)
        found.requested, found.withdrawn = version, False
        if found.policy != "publish_when_ready" or self.pointers.get((doc, 0), (0, 0))[0] >= version:
            found.published = version
        self._cancel(doc, "SUPERSEDED", below=version)
        for pipeline in (0, 1) if self.building[found.tenant] else (0,):
            self.order((doc, version, pipeline, 1, "INDEX"), readers=found.readers[version])
        return "ok"

    def order(self, key: TaskKey, *, readers: bool) -> None:
        if key not in self.tasks:
            self.tasks[key] = Task(readers_requested=readers)
        elif self._may_reopen(key):
            self._reopen(key)
            self.tasks[key].readers_requested = readers

    def set_readers(self, doc: int, readers: bool) -> str:
        found = self.docs[doc]
        if found.deleted or found.requested is None:
            return "refused"
        found.readers[found.requested] = readers
        if readers and not found.withdrawn:
            for key, task in self.tasks.items():
                stopped = (task.state, task.code) == ("DEAD", "ACCESS_REVOKED")
                if key[:2] == (doc, found.requested) and stopped and self._may_reopen(key):
                    self._reopen(key)
        return "ok"

    def choose(self, doc: int, policy: str) -> str:
        if self.docs[doc].deleted:
            return "refused"
        self.docs[doc].policy = policy
        return "ok"

    def withdraw(self, doc: int) -> str:
        found = self.docs[doc]
        if found.deleted or found.requested is None:
            return "refused"
        if not found.withdrawn:
            found.withdrawn = True
            self._cancel(doc, "DOCUMENT_WITHDRAWN")
        return "ok"

    def delete(self, doc: int) -> str:
        if self.docs[doc].deleted:
            return "refused"
        self.docs[doc].deleted = True
        self._cancel(doc, "DOCUMENT_DELETED")
        return "ok"

    def purge(self) -> None:
        for number, doc in enumerate(self.docs):
            if not doc.deleted or doc.purged:
                continue
            running = [task for key, task in self.tasks.items() if key[0] == number and task.state == "RUNNING"]
            for task in running:
                if not task.alive:
                    task.move("DEAD", "DOCUMENT_DELETED")
            if any(task.alive for task in running):
                continue
            doc.purged = True
            self.pointers = {key: at for key, at in self.pointers.items() if key[0] != number}
            self.chunks = {key: rows for key, rows in self.chunks.items() if key[0] != number}
            others = [
                self.texts.get(other, set())
                for other, living in enumerate(self.docs)
                if other != number and living.tenant == doc.tenant and not living.deleted
            ]
            self.cached[doc.tenant] = self.cached.get(doc.tenant, set()) - (
                self.texts.pop(number, set()) - set().union(*others)
            )

    def cancel(self, key: TaskKey) -> str:
        task = self.tasks[key]
        if self.docs[key[0]].deleted or task.state in ("SUCCEEDED", "CANCELLED"):
            return "refused"
        if task.state == "RUNNING":
            task.wish = True
        else:
            task.move("CANCELLED", "CANCELLED_BY_USER")
            task.wish = False
        return "ok"

    def retry(self, key: TaskKey) -> str:
        if key[1] != self.docs[key[0]].requested or not self._may_reopen(key):
            return "refused"
        self._reopen(key)
        return "ok"

    def retire(self, tenant: int) -> None:
        self.building[tenant] = False

    # what workers do

    def claimable(self) -> set[TaskKey]:
        return {
            key
            for key, task in self.tasks.items()
            if task.state == "PENDING"
            or (task.state == "RETRY_WAIT" and task.due)
            or (task.state == "RUNNING" and not task.alive and task.failures + 1 < self.budget)
        }

    def end_spent(self) -> None:
        """What every claim does besides."""
        for task in self.tasks.values():
            if task.state == "RUNNING" and not task.alive and task.failures + 1 >= self.budget:
                task.failures += 1
                task.move("DEAD", "LEASE_ATTEMPTS_EXHAUSTED")

    def claimed(self, key: TaskKey) -> int:
        task = self.tasks[key]
        task.failures += task.state == "RUNNING"
        task.attempts += 1
        task.move("RUNNING", task.code)
        task.alive = True
        return task.attempts

    def begin(self, key: TaskKey) -> str:
        doc, at = self.docs[key[0]], self.pointers.get((key[0], key[2]), (0, 0))
        if (unwanted := self._unwanted(key, wish=False)) is not None:
            return unwanted
        return "SUPERSEDED" if key[1] < max(doc.requested or 0, at[0]) else "ok"

    def holds(self, key: TaskKey, attempts: int) -> bool:
        task = self.tasks[key]
        return task.state == "RUNNING" and task.attempts == attempts and task.alive

    def report(self, key: TaskKey, attempts: int) -> str:
        if not self.holds(key, attempts):
            return "lost"
        task, doc = self.tasks[key], self.docs[key[0]]
        for unwanted, code in (
            (doc.deleted, "DOCUMENT_DELETED"),
            (doc.withdrawn, "DOCUMENT_WITHDRAWN"),
            (task.wish, "CANCELLED_BY_USER"),
            (self._revoked(key), "ACCESS_REVOKED"),
        ):
            if unwanted:
                return code
        return "ok"

    def keep(self, key: TaskKey, attempts: int, texts: set[str]) -> str:
        if not self.holds(key, attempts):
            return "lost"
        self.texts.setdefault(key[0], set()).update(texts)
        self.cached.setdefault(self.docs[key[0]].tenant, set()).update(texts)
        return "ok"

    def discard(self, key: TaskKey, attempts: int, content: int) -> str:
        if not self.holds(key, attempts):
            return "lost"
        rows = self.chunks.get(key[:4], {})
        kept = {ordinal: stored for ordinal, stored in rows.items() if stored == content}
        if kept != rows and self._served(key) and not self.docs[key[0]].deleted:
            return "database"
        self.chunks[key[:4]] = kept
        return "ok"

    def stage(self, key: TaskKey, attempts: int, content: int, ordinals: set[int]) -> str:
        if not self.holds(key, attempts):
            return "lost"
        rows = self.chunks.setdefault(key[:4], {})
        if any(rows.get(ordinal, content) != content for ordinal in ordinals):
            return "database"
        if ordinals - rows.keys() and self._served(key):
            return "database"
        rows.update(dict.fromkeys(ordinals, content))
        return "ok"

    def finish(self, key: TaskKey, attempts: int, content: int) -> str:
        if not self.holds(key, attempts):
            return "lost"
        if (unwanted := self._unwanted(key)) is not None:
            return unwanted
        if self._revoked(key):
            return "ACCESS_REVOKED"
        if self.chunks.get(key[:4], {}) != dict.fromkeys(range(SIZES[content]), content):
            return "VERIFICATION_FAILED"
        place = (key[0], key[2])
        if self.pointers.get(place, (0, 0)) >= (key[1], key[3]):
            return "SUPERSEDED"
        self.pointers[place] = (key[1], key[3])
        if key[2] == 0:
            self.docs[key[0]].published = max(self.docs[key[0]].published or 0, key[1])
        self.tasks[key].move("SUCCEEDED")
        self.tasks[key].wish = False
        return "ok"

    def end(self, key: TaskKey, attempts: int, code: str, disposition: str) -> str:
        """An attempt ends by an error with this code and disposition."""
        if not self.holds(key, attempts):
            return "lost"
        task = self.tasks[key]
        unwanted = self._unwanted(key)
        if unwanted is None and code == "ACCESS_REVOKED" and not self._revoked(key):
            task.move("PENDING", task.code)  # what ended it is no longer so
        elif unwanted is None and disposition == "cancelled" and code != "SUPERSEDED":
            task.move("PENDING", task.code)
        elif unwanted is not None or disposition == "cancelled":
            task.move("CANCELLED", unwanted or code)
            task.wish = False
        else:
            charge = disposition in ("transient", "permanent")
            dead = disposition == "permanent" or (charge and task.failures + 1 >= self.budget)
            task.failures = min(task.failures + charge, self.budget)
            task.move("DEAD" if dead else "RETRY_WAIT", code)
            task.wish = False
        return "ok"

    def release(self, key: TaskKey, attempts: int) -> str:
        if not self.holds(key, attempts):
            return "lost"
        self.tasks[key].move("PENDING", self.tasks[key].code)
        return "ok"

    # what readers see

    def visible(self, tenant: int) -> set[tuple[int, int, int]]:
        """Document, version and ordinal of every chunk that a member finds."""
        found = set()
        for number, doc in enumerate(self.docs):
            version, generation = self.pointers.get((number, 0), (0, 0))
            if doc.tenant != tenant or not version or doc.deleted or doc.withdrawn or version < doc.serve_from:
                continue
            if doc.readers.get(version) and doc.readers.get(doc.requested or 0):
                found |= {(number, version, ordinal) for ordinal in self.chunks[number, version, 0, generation]}
        return found

    def is_behind(self, doc: int) -> bool:
        """Whether readers have not got the version asked for last."""
        found = self.docs[doc]
        if found.requested is None or found.withdrawn or found.deleted:
            return False
        return self.pointers.get((doc, 0), (0, 0))[0] < found.requested

    # inside

    def _retired(self, key: TaskKey) -> bool:
        return key[2] == 1 and not self.building[self.docs[key[0]].tenant]

    def _revoked(self, key: TaskKey) -> bool:
        return self.tasks[key].readers_requested and not self.docs[key[0]].readers.get(key[1], False)

    def _served(self, key: TaskKey) -> bool:
        return self.pointers.get((key[0], key[2])) == (key[1], key[3])

    def _unwanted(self, key: TaskKey, *, wish: bool = True) -> str | None:
        doc = self.docs[key[0]]
        if doc.deleted:
            return "DOCUMENT_DELETED"
        if doc.withdrawn:
            return "DOCUMENT_WITHDRAWN"
        if self._retired(key):
            return "PIPELINE_RETIRED"
        return "CANCELLED_BY_USER" if wish and self.tasks[key].wish else None

    def _may_reopen(self, key: TaskKey) -> bool:
        doc = self.docs[key[0]]
        wanted = not doc.deleted and not doc.withdrawn and key[1] >= (doc.requested or 0) and not self._retired(key)
        return wanted and self.tasks[key].state != "SUCCEEDED"

    def _reopen(self, key: TaskKey) -> None:
        task = self.tasks[key]
        task.wish = False
        if task.state == "RUNNING":
            return
        if task.state in ("DEAD", "CANCELLED"):
            task.failures = 0
        task.move("PENDING")

    def _cancel(self, doc: int, code: str, *, below: int | None = None) -> None:
        for key, task in self.tasks.items():
            if key[0] == doc and (below is None or key[1] < below) and task.state in WAITING:
                task.move("CANCELLED", code)
