"""After the storm: gives readers back and tries again whatever ended badly, until every task has ended well or for good."""

from __future__ import annotations

from tests.chaos.actors import administrator, flipper
from tests.chaos.actors.acting import Stage, act

UNSETTLED = "SELECT count(*) FROM index_task WHERE state IN ('PENDING', 'RETRY_WAIT', 'RUNNING')"


def settle(stage: Stage) -> None:
    while not stage.stopped.is_set():
        flipper.restore(stage)
        again = administrator.retry(stage)
        if not again and not stage.ask(UNSETTLED)[0][0]:
            return
        stage.pause(0.3)


if __name__ == "__main__":
    act(settle)
