"""`manage.py pipeline …`: from one embedding model, or way of splitting, to another, and back."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error

from documents.errors import DocumentsError
from documents.models import Tenant
from documents.outages import is_outage
from indexing import gate, lifecycle, recompute, revisions
from indexing.errors import IndexingError
from indexing.evaluation import read_questions
from indexing.models import Pipeline
from indexing.pipeline_config import Change, difference
from indexing.pipelines import (
    described_pipeline,
    drop_unused_vector_index,
    ensure_vector_index,
    has_vector_index,
    of_release,
)

FAILED, USAGE, PARTIAL = 1, 2, 3
WORTH_REBUILDING = 1000  # documents to fill in from which the index is built after them


class Command(BaseCommand):
    help = (
        "Pipelines: create, list, diff; then, for tenants: build (fill in what was published before), gate (examine), serve, "
        "rollback, retire. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not passed, or some tenants or documents left."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        for verb, (words, of_tenants, add) in VERBS.items():
            sub = verbs.add_parser(verb, help=words, description=words)
            add(sub)
            if of_tenants:
                chosen = sub.add_mutually_exclusive_group(required=True)
                chosen.add_argument("--tenant", action="append", default=[], metavar="SLUG", help="may be repeated")
                chosen.add_argument("--all-tenants", action="store_true")
            sub.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *_: Any, **options: Any) -> None:
        verb = options["verb"]
        try:
            if not VERBS[verb][1]:
                getattr(self, f"_{verb}")(options)
                return
            self._for_tenants(getattr(self, f"_{verb}"), options)
        except (DocumentsError, IndexingError) as error:
            raise CommandError(str(error), returncode=FAILED) from error
        except Error as error:
            if not is_outage(error):
                raise
            raise CommandError(f"The database cannot be used: {str(error).strip()}", returncode=FAILED) from error

    def _for_tenants(self, act: Callable[[Tenant, dict[str, Any]], bool], options: dict[str, Any]) -> None:
        """Each tenant by itself: one that is refused stops no other."""
        if options["all_tenants"]:
            tenants = list(Tenant.objects.order_by("slug"))
        else:
            tenants = [lifecycle.tenant_of(slug) for slug in options["tenant"]]
        left = []
        for tenant in tenants:
            try:
                if not act(tenant, options):
                    left.append(tenant.slug)
            except (DocumentsError, IndexingError) as error:
                if len(tenants) == 1:
                    raise
                self._say(options, {"tenant": tenant.slug, "refused": str(error)}, f"{tenant.slug}: {error}")
                left.append(tenant.slug)
        if left:
            raise CommandError(f"Left as they were or not complete: {', '.join(left)}.", returncode=PARTIAL)

    def _create(self, options: dict[str, Any]) -> None:
        base = _pipeline(options["base"]) if options["base"] else described_pipeline()
        if base is None:
            raise CommandError("There is no pipeline yet. Run “manage.py migrate” first.")
        made, changes = revisions.create(actor=None, base=base, assignments=options["set"], name=options["name"])
        told = {"pipelineId": made.pk, "name": made.name, "digest": made.digest, **_changes(changes)}
        self._say(options, told, "\n".join([f"Pipeline {made.pk}: {made.name}", *_lines(changes)]))

    def _list(self, options: dict[str, Any]) -> None:
        tenants = [lifecycle.tenant_of(slug) for slug in options["tenant"]] or list(Tenant.objects.all())
        standings = lifecycle.standings(tenant_ids=[tenant.pk for tenant in tenants])
        found = []
        for pipeline in Pipeline.objects.order_by("id"):
            own = [one for one in standings if one.pipeline_id == pipeline.pk]
            found.append(
                {
                    "pipelineId": pipeline.pk,
                    "name": pipeline.name,
                    "vectorIndex": has_vector_index(pipeline),
                    "ofThisRelease": of_release(pipeline.config) == pipeline.config,
                    "tenants": [
                        {
                            "tenant": one.tenant,
                            "role": one.role,
                            "documents": one.documents,
                            "waiting": one.waiting,
                            "failed": one.failed,
                        }
                        for one in own
                    ],
                }
            )
        self._say(options, {"pipelines": found}, "\n".join(_listed(one) for one in found))

    def _diff(self, options: dict[str, Any]) -> None:
        changes = difference(_pipeline(options["before"]).config, _pipeline(options["after"]).config)
        self._say(options, _changes(changes), "\n".join(_lines(changes)) or "They are the same.")

    def _build(self, tenant: Tenant, options: dict[str, Any]) -> bool:
        """Each step is skipped where it is done, so an interrupted build is run again."""
        pipeline = _pipeline(options["pipeline"])
        lifecycle.begin(actor=None, tenant_id=tenant.pk, pipeline_id=pipeline.pk)
        run = recompute.start(actor_id=None, pipeline_id=pipeline.pk, tenant_id=tenant.pk)
        counts = recompute.refresh(run)
        if counts.pending > WORTH_REBUILDING and drop_unused_vector_index(pipeline, using="owner"):
            self._progress("Its vector index is built after the documents are filled in.")
        if counts.pending and not options["no_wait"]:
            call_command("recompute", resume=run.pk, processes=options["processes"], stdout=self.stderr)
            counts = recompute.refresh(run)
        if not counts.pending:
            self._progress("Building its vector index …")
            ensure_vector_index(pipeline_id=pipeline.pk, dimensions=pipeline.dimensions, using="owner")
        told = {"tenant": tenant.slug, "runId": run.pk, **counts.to_json(), "vectorIndex": has_vector_index(pipeline)}
        line = (
            f"{tenant.slug}: {counts.applied} of {counts.total} documents are there, {counts.failed} failed, "
            f"{counts.pending} wait in run {run.pk}."
        )
        self._say(options, told, line)
        return counts.pending == 0 and counts.failed == 0

    def _gate(self, tenant: Tenant, options: dict[str, Any]) -> bool:
        questions, asked_by = [], None
        if options["questions"]:
            try:
                questions = read_questions(options["questions"].read_text(encoding="utf-8").splitlines())
            except (OSError, ValueError) as error:
                raise CommandError(
                    f"{options['questions']}: {error}. Nothing was examined.", returncode=USAGE
                ) from error
            asked_by = User.objects.filter(username=options["as"] or "", is_active=True).first()
            if asked_by is None:
                raise CommandError(
                    "Say with --as USER who asks the questions, a member of the tenant.", returncode=USAGE
                )
        report = gate.examine(
            actor=None,
            tenant_id=tenant.pk,
            pipeline_id=options["pipeline"],
            questions=questions,
            asked_by=asked_by,
            tolerance=options["tolerance"],
        )
        told = {"tenant": tenant.slug, **report.to_json()}
        self._say(
            options, told, "\n".join([f"{tenant.slug}: {'passed' if report.passed else 'not passed'}", *_found(told)])
        )
        return report.passed

    def _exclude(self, tenant: Tenant, options: dict[str, Any]) -> bool:
        count = lifecycle.exclude(
            actor=None,
            tenant_id=tenant.pk,
            pipeline_id=options["pipeline"],
            reason=options["reason"],
            document_ids=options["document"] or None,
            failed_only=options["failed"],
        )
        self._say(
            options, {"tenant": tenant.slug, "excluded": count}, f"{tenant.slug}: {count} documents are left out."
        )
        return True

    def _serve(self, tenant: Tenant, options: dict[str, Any]) -> bool:
        lifecycle.serve(actor=None, tenant_id=tenant.pk, pipeline_id=options["pipeline"])
        return self._served(tenant, options["pipeline"], options)

    def _rollback(self, tenant: Tenant, options: dict[str, Any]) -> bool:
        number = lifecycle.roll_back(actor=None, tenant_id=tenant.pk, hide_behind=options["hide_behind"])
        return self._served(tenant, number, options)

    def _served(self, tenant: Tenant, number: int, options: dict[str, Any]) -> bool:
        told = {"tenant": tenant.slug, "serving": number}
        self._say(options, told, f"{tenant.slug}: pipeline {number} serves, the one before stands by.")
        return True

    def _retire(self, tenant: Tenant, options: dict[str, Any]) -> bool:
        count = lifecycle.retire(actor=None, tenant_id=tenant.pk, pipeline_id=options["pipeline"])
        told = {"tenant": tenant.slug, "retired": options["pipeline"], "cancelledTasks": count}
        self._say(options, told, f"{tenant.slug}: retired; {count} waiting tasks were cancelled.")
        return True

    def _say(self, options: dict[str, Any], told: dict[str, Any], line: str) -> None:
        self.stdout.write(json.dumps(told, ensure_ascii=False) if options["format"] == "json" else line)

    def _progress(self, line: str) -> None:
        if sys.stderr.isatty():
            self.stderr.write(line)


def _of_pipeline(parser: Any) -> None:
    parser.add_argument("pipeline", type=int, metavar="ID")


def _of_create(parser: Any) -> None:
    parser.add_argument(
        "--from", dest="base", type=int, metavar="ID", help="what it is made from (what the settings say)"
    )
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="such as splitter.tokens=400")
    parser.add_argument("--name", default="")


def _of_list(parser: Any) -> None:
    parser.add_argument("--tenant", action="append", default=[], metavar="SLUG", help="only this one; may be repeated")


def _of_diff(parser: Any) -> None:
    parser.add_argument("before", type=int, metavar="ID")
    parser.add_argument("after", type=int, metavar="ID")


def _of_build(parser: Any) -> None:
    _of_pipeline(parser)
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="worker processes for the bulk run")
    parser.add_argument("--no-wait", action="store_true", help="order only: workers on the pool “bulk” do it")


def _of_gate(parser: Any) -> None:
    _of_pipeline(parser)
    parser.add_argument(
        "--questions", type=Path, metavar="FILE", help='lines {"query": "…", "relevant": ["document id"]}'
    )
    parser.add_argument("--as", metavar="USER", help="who asks them, and finds what they may read")
    parser.add_argument(
        "--tolerance", type=float, default=gate.TOLERANCE, help="nDCG@10 that it may be worse by (%(default)s)"
    )


def _of_exclude(parser: Any) -> None:
    _of_pipeline(parser)
    parser.add_argument("--reason", required=True)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--failed", action="store_true", help="those whose indexing failed there")
    which.add_argument("--all", action="store_true", help="all that are behind there")
    which.add_argument("--document", action="append", type=uuid.UUID, metavar="ID", help="may be repeated")


def _of_rollback(parser: Any) -> None:
    parser.add_argument(
        "--hide-behind",
        default="",
        metavar="REASON",
        help="go back at once: show nothing of documents that are behind there",
    )


# Verb: what it does, whether it is about tenants, its arguments.
VERBS: dict[str, tuple[str, bool, Callable[[Any], None]]] = {
    "create": ("make a new revision of a configuration, and show the difference", False, _of_create),
    "list": ("the pipelines, and what each is to its tenants", False, _of_list),
    "diff": ("what differs between two", False, _of_diff),
    "build": ("index new versions under it too, fill in the others, build its vector index; resumes", True, _of_build),
    "gate": ("examine it: is everything there, and found as well as now?", True, _of_gate),
    "exclude": ("let it serve without documents that are behind there, and say why", True, _of_exclude),
    "serve": ("let searches use it; the one before stands by", True, _of_pipeline),
    "rollback": ("let the one before serve again", True, _of_rollback),
    "retire": ("index nothing more under it; its chunks are removed later", True, _of_pipeline),
}


def _pipeline(number: int) -> Pipeline:
    pipeline = Pipeline.objects.filter(pk=number).first()
    if pipeline is None:
        raise CommandError(f"There is no pipeline {number}; nothing was changed. “manage.py pipeline list” shows them.")
    return pipeline


def _changes(changes: list[Change]) -> dict[str, Any]:
    return {"changes": [{"path": one.path, "before": one.before, "after": one.after} for one in changes]}


def _lines(changes: list[Change]) -> list[str]:
    return [f"  {one.path}: {_value(one.before)} → {_value(one.after)}" for one in changes]


def _value(value: Any) -> str:
    return "–" if value is None else json.dumps(value, ensure_ascii=False)


def _listed(one: dict[str, Any]) -> str:
    marks = ["" if one["vectorIndex"] else "no vector index yet", "" if one["ofThisRelease"] else "of another release"]
    line = f"{one['pipelineId']}  {one['name']}  {', '.join(filter(None, marks))}".rstrip()
    return "\n".join(
        [
            line,
            *(
                f"     {own['tenant']}: {own['role'].lower()}, {own['documents']} documents, {own['waiting']} waiting, "
                f"{own['failed']} failed"
                for own in one["tenants"]
            ),
        ]
    )


def _found(told: dict[str, Any]) -> list[str]:
    lines = [f"  {sentence}" for sentence in gate.sentences(told["reasons"])]
    for one in told["firstBehind"]:
        lines.append(
            f"  {one['documentId']} “{one['title']}”: v{one['servingVersion']} now, "
            f"{'nothing' if one['candidateVersion'] is None else 'v' + str(one['candidateVersion'])} there"
            + (f" ({one['state']} {one['errorCode'] or ''}".rstrip() + ")" if one["state"] else " (never ordered)")
        )
    if found := told["evaluation"]:
        ndcg = found["ndcgAt10"]
        lines.append(f"  nDCG@10 of {found['questions']} questions: {ndcg['serving']} now, {ndcg['candidate']} there")
    if found := told["shadow"]:
        lines.append(f"  {found['queries']} sampled queries: {found['overlapAt10']:.0%} of documents in common")
    return lines
