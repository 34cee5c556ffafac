"""Processes that do rounds of work for bench_queue, and what is made of their times."""

from __future__ import annotations

import multiprocessing
import time

from tests.benchmarks import queue_load


def p(values: list[float], share: float) -> float:
    """A percentile of seconds, in milliseconds."""
    return round(sorted(values)[min(len(values) - 1, int(len(values) * share))] * 1000, 3)


class Crew:
    """Processes that wait for rounds."""

    def __init__(self, host: str, size: int, *, database: str = "kb") -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes, self._processes = [], []
        for _ in range(size):
            mine, theirs = context.Pipe()
            process = context.Process(target=queue_load.serve, args=(theirs, host, database), daemon=True)
            process.start()
            self._pipes.append(mine)
            self._processes.append(process)

    def round(self, side: str, *, workers: int, cycles: int, commit: str) -> tuple[float, list[float]]:
        """Life cycles per second of all together, and the seconds of each claim."""
        start = time.monotonic() + 0.1
        for pipe in self._pipes[:workers]:
            pipe.send((side, cycles // workers, commit, start))
        answers = [pipe.recv() for pipe in self._pipes[:workers]]
        elapsed = max(answer[1] for answer in answers) - min(answer[0] for answer in answers)
        return sum(answer[2] for answer in answers) / elapsed, [took for answer in answers for took in answer[3]]

    def end(self) -> None:
        for pipe in self._pipes:
            pipe.send(None)
        for process in self._processes:
            process.join()
