"""The gate before a pipeline may serve: is everything there, is it found as well as before, do real queries find something?"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.contrib.auth.models import User as Account
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop

from documents.errors import InvalidInput
from documents.querysets import User, tenants_where
from indexing import lifecycle
from indexing.evaluation import DEPTH, Question, ndcg, overlap, recall
from indexing.lifecycle_models import PipelineGate, ShadowQuery
from indexing.models import Pipeline
from indexing.pipelines import has_vector_index, serving_pipeline
from indexing.search import count_terms, documents_found
from indexing.statements import rows

SHOWN = 20  # documents, questions and queries that a report names
TOLERANCE = 0.01  # nDCG@10 that a candidate may be worse by
MOST_LOST = 0.02  # share of sampled queries that find something now and would find nothing


REASONS: dict[str, str] = {
    "no_index": noop("Its vector index is not built: run “manage.py pipeline build %(pipeline)s”."),
    "behind": noop("%(count)s documents would be shown older or not at all."),
    "worse": noop("nDCG@10 falls from %(before)s to %(after)s, by more than %(tolerance)s."),
    "lost": noop("%(lost)s of %(queries)s sampled queries would find nothing any more."),
}


@dataclass(frozen=True, slots=True)
class Completeness:
    """`behind` documents would be shown older or not at all; `first` names some of them with what keeps them."""

    behind: int
    excluded: int
    first: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Means over questions of a dataset, of the pipeline that serves and of the candidate; `worst` by loss of nDCG."""

    questions: int
    ndcg: tuple[float, float]
    recall: tuple[float, float]
    worst: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Shadow:
    """Sampled queries asked of both. `overlap`: mean share of documents among the first ten that both found."""

    queries: int
    overlap: float
    lost: int  # find something now, and would find nothing


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a pipeline did not pass: a key of `REASONS` with its facts."""

    code: str
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    pipeline_id: int
    against_id: int
    index: bool
    completeness: Completeness
    evaluation: Comparison | None = None
    shadow: Shadow | None = None
    reasons: tuple[Reason, ...] = field(default=())  # why it did not pass

    @property
    def passed(self) -> bool:
        return not self.reasons

    def to_json(self) -> dict[str, Any]:
        evaluation, shadow = self.evaluation, self.shadow
        return {
            "pipelineId": self.pipeline_id,
            "againstId": self.against_id,
            "passed": self.passed,
            "reasons": [{"code": reason.code, **reason.facts} for reason in self.reasons],
            "vectorIndex": self.index,
            "behind": self.completeness.behind,
            "excluded": self.completeness.excluded,
            "firstBehind": list(self.completeness.first),
            "evaluation": evaluation
            and {
                "questions": evaluation.questions,
                "ndcgAt10": {"serving": evaluation.ndcg[0], "candidate": evaluation.ndcg[1]},
                "recallAt10": {"serving": evaluation.recall[0], "candidate": evaluation.recall[1]},
                "worst": list(evaluation.worst),
            },
            "shadow": shadow and {"queries": shadow.queries, "overlapAt10": shadow.overlap, "lost": shadow.lost},
        }


def examine(
    *,
    actor: User | None,
    tenant_id: int,
    pipeline_id: int,
    questions: Sequence[Question] = (),
    asked_by: User | None = None,
    tolerance: float = TOLERANCE,
) -> Report:
    """Examine the pipeline against the one that serves the tenant, and keep what was found: only one that passed may serve.

    `questions` are asked as `asked_by`, who finds what they may read and nothing else; sampled queries as those who asked them.
    Raises `NotAllowed`, `NotFound`, `Conflict`, `InvalidInput` for questions without a member of the tenant who asks, and an
    `IndexingError` if a model cannot be reached.
    """
    lifecycle.ensure_may_manage(actor, tenant_id)
    candidate = lifecycle.candidate(tenant_id=tenant_id, pipeline_id=pipeline_id)
    serving = serving_pipeline(tenant_id)
    assert serving is not None, "a tenant with a candidate has a pipeline that serves"
    # Common words are known before the first query counts on it.
    count_terms(tenant_id=tenant_id, pipeline_id=candidate.pk)
    compare = partial(_both, tenant_id, serving, candidate)
    evaluation = None
    if questions:
        if asked_by is None or not tenants_where(asked_by).filter(pk=tenant_id).exists():
            raise InvalidInput(_("Name a member of the tenant as whom the questions are asked; nothing was examined."))
        evaluation = _evaluated(questions, partial(compare, asked_by))
    report = Report(
        candidate.pk,
        serving.pk,
        has_vector_index(candidate),
        _completeness(tenant_id, serving, candidate),
        evaluation,
        _shadowed(tenant_id, compare),
    )
    report = _judged(report, tolerance)
    PipelineGate.objects.create(
        tenant_id=tenant_id,
        pipeline_id=candidate.pk,
        against_id=serving.pk,
        passed=report.passed,
        report=report.to_json(),
        actor_id=actor.pk if actor is not None else None,
        actor_name=lifecycle.actor_name(actor),
    )
    return report


def sentences(reasons: Iterable[Mapping[str, Any]]) -> list[str]:
    """The reasons of a report, as `to_json` tells them, in the reader's language."""
    return [_(REASONS[reason["code"]]) % reason for reason in reasons]


def _judged(report: Report, tolerance: float) -> Report:
    reasons = []
    if not report.index:
        reasons.append(Reason("no_index", {"pipeline": report.pipeline_id}))
    if behind := report.completeness.behind:
        reasons.append(Reason("behind", {"count": behind}))
    if (found := report.evaluation) is not None and found.ndcg[1] < found.ndcg[0] - tolerance:
        reasons.append(Reason("worse", {"before": found.ndcg[0], "after": found.ndcg[1], "tolerance": tolerance}))
    if (shadow := report.shadow) is not None and shadow.lost > MOST_LOST * shadow.queries:
        reasons.append(Reason("lost", {"lost": shadow.lost, "queries": shadow.queries}))
    return Report(
        report.pipeline_id,
        report.against_id,
        report.index,
        report.completeness,
        report.evaluation,
        report.shadow,
        tuple(reasons),
    )


def _completeness(tenant_id: int, serving: Pipeline, candidate: Pipeline) -> Completeness:
    behind, excluded = lifecycle.count_behind(tenant_id=tenant_id, pipeline_id=candidate.pk)
    which = {"tenant": tenant_id, "serving": serving.pk, "candidate": candidate.pk}
    first = tuple(
        {
            "documentId": str(found["document_id"]),
            "title": found["title"],
            "servingVersion": found["serving_version"],
            "candidateVersion": found["candidate_version"],
            "taskId": found["task_id"],
            "state": found["state"],
            "errorCode": found["error_code"],
        }
        for found in (rows("lifecycle", "behind", **which, limit=SHOWN) if behind else ())
    )
    return Completeness(behind, excluded, first)


def _both(
    tenant_id: int, serving: Pipeline, candidate: Pipeline, user: User, query: str
) -> tuple[list[uuid.UUID], list[uuid.UUID]]:
    """What the query finds under each, in random order of asking: what the first one warms up helps the second."""
    pair = [serving, candidate]
    random.shuffle(pair)
    found = {
        pipeline.pk: documents_found(user=user, tenant_id=tenant_id, pipeline=pipeline, query=query, limit=DEPTH)
        for pipeline in pair
    }
    return found[serving.pk], found[candidate.pk]


def _evaluated(questions: Sequence[Question], compare: Any) -> Comparison:
    results = []
    for question in questions:
        now, then = compare(question.query)
        results.append(
            (
                question,
                (ndcg(now, question.relevant), ndcg(then, question.relevant)),
                (recall(now, question.relevant), recall(then, question.relevant)),
            )
        )
    results.sort(key=lambda result: result[1][1] - result[1][0])
    return Comparison(
        len(results),
        _means([result[1] for result in results]),
        _means([result[2] for result in results]),
        tuple(
            {"query": question.query, "serving": round(gains[0], 4), "candidate": round(gains[1], 4)}
            for question, gains, _recalls in results[:SHOWN]
            if gains[1] < gains[0]
        ),
    )


def _shadowed(tenant_id: int, compare: Any) -> Shadow | None:
    """None without a sample."""
    samples = list(ShadowQuery.objects.filter(tenant_id=tenant_id).order_by("id").values_list("user_id", "query"))
    people = Account.objects.in_bulk({user_id for user_id, _query in samples})
    pairs = [compare(people[user_id], query) for user_id, query in samples if user_id in people]
    if not pairs:
        return None
    return Shadow(
        len(pairs),
        round(sum(overlap(now, then) for now, then in pairs) / len(pairs), 4),
        sum(bool(now) and not then for now, then in pairs),
    )


def _means(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return round(sum(one for one, _ in pairs) / len(pairs), 4), round(sum(two for _, two in pairs) / len(pairs), 4)
