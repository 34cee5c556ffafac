"""The life of a task as a graph. That the database knows the same moves is shown in tests/db/test_guards_tasks.py."""

from __future__ import annotations

import ast
import inspect

from indexing import states
from indexing.states import MOVES, WAITING, PipelineRole, Pool, Stage, TaskState, TaskType


def test_every_state_has_its_moves() -> None:
    assert set(MOVES) == set(TaskState)


def test_success_is_final_and_nothing_else_is() -> None:
    assert [state for state in TaskState if not MOVES[state]] == [TaskState.SUCCEEDED]


def test_success_comes_from_running_alone() -> None:
    """The pointer moves in the same transaction, under a lease."""
    assert [state for state in TaskState if TaskState.SUCCEEDED in MOVES[state]] == [TaskState.RUNNING]


def test_from_every_other_state_there_is_a_way_to_success() -> None:
    """No task can get stuck for good."""
    for state in set(TaskState) - {TaskState.SUCCEEDED}:
        reached, seen = {state}, set()
        while reached - seen:
            seen |= reached
            reached = reached | {target for source in seen for target in MOVES[source]}
        assert TaskState.SUCCEEDED in reached, state


def test_what_ended_runs_again_only_after_it_was_reopened() -> None:
    for state in (TaskState.DEAD, TaskState.CANCELLED):
        assert TaskState.RUNNING not in MOVES[state]
        assert TaskState.PENDING in MOVES[state]


def test_what_waits_can_be_cancelled_without_a_worker() -> None:
    assert all(TaskState.CANCELLED in MOVES[state] for state in WAITING)
    assert TaskState.RUNNING not in WAITING


def test_names_are_values() -> None:
    """They are stored, sent and compared as text."""
    for kind in (TaskState, TaskType, Stage, PipelineRole):
        assert all(member.name == member.value for member in kind)
    assert {pool.value for pool in Pool} == {"online", "bulk"}


def test_every_state_says_who_moves_it() -> None:
    body = next(
        node
        for node in ast.parse(inspect.getsource(states)).body
        if isinstance(node, ast.ClassDef) and node.name == "TaskState"
    ).body
    for number, node in enumerate(body):
        if isinstance(node, ast.Assign):
            after = body[number + 1] if number + 1 < len(body) else None
            assert isinstance(after, ast.Expr), ast.unparse(node)
            assert isinstance(after.value, ast.Constant), ast.unparse(node)
