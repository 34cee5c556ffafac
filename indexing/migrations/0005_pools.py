"""Pools of tenants, turns among them, and indexes that let a running task change in place (sql/schema/0005_pools.sql)."""

from pathlib import Path

import django.db.models.deletion
import django.db.models.functions.datetime
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

SCHEMA = Path(__file__).parent.parent / "sql" / "schema" / "0005_pools.sql"
CHECKS = (
    "index_task_lease_iff_running",
    "index_task_due_iff_waiting",
    "index_task_end_has_reason",
    "index_task_finished_iff_final",
    "index_task_failures_in_budget",
    "index_task_known_state",
)
INTEGERS = {
    "version_number": models.IntegerField("version"),
    "generation": models.IntegerField(default=1),
    "progress_done": models.IntegerField(default=0),
    "progress_total": models.IntegerField(default=0),
    "attempts": models.IntegerField("attempts", default=0, help_text="the fencing token: never lowered"),
    "failures": models.IntegerField("failures", default=0, help_text="charged to the budget"),
    "max_failures": models.IntegerField(),
}


class Migration(migrations.Migration):
    atomic = False  # an index of a big table is built while the site runs
    dependencies = [("indexing", "0004_providers")]
    operations = [
        migrations.CreateModel(
            name="TenantPool",
            fields=[
                (
                    "tenant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="documents.tenant",
                        verbose_name="tenant",
                    ),
                ),
                (
                    "pool",
                    models.CharField(
                        help_text="lower-case letters, digits and hyphens; start workers with “run_index_worker --pool NAME”",
                        max_length=20,
                        verbose_name="pool",
                    ),
                ),
                (
                    "changed_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name="changed"),
                ),
            ],
            options={
                "verbose_name": "tenant's own pool",
                "verbose_name_plural": "tenants' own pools",
                "db_table": "tenant_pool",
            },
        ),
        migrations.AlterField(
            "indextask",
            "tenant",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="documents.tenant",
                verbose_name="tenant",
            ),
        ),
        migrations.AlterField(
            "indextask",
            "document",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="index_tasks",
                to="documents.document",
                verbose_name="document",
            ),
        ),
        migrations.AlterField(
            "indextask",
            "pipeline",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="indexing.pipeline",
                verbose_name="pipeline",
            ),
        ),
        migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), migrations.RunSQL.noop),
        # What these CHECKs say, the guards say (0003): they are read from their stored form again by every statement.
        *(migrations.RemoveConstraint("indextask", name) for name in CHECKS),
        *(migrations.AlterField("indextask", name, field) for name, field in INTEGERS.items()),
        migrations.AlterField("taskevent", "attempts", models.IntegerField()),
        RemoveIndexConcurrently("indextask", "index_task_latest"),
        RemoveIndexConcurrently("indextask", "index_task_dead"),
        AddIndexConcurrently(
            "indextask",
            models.Index(fields=["finished_at"], name="index_task_dead", condition=models.Q(state="DEAD")),
        ),
        AddIndexConcurrently(
            "indextask",
            models.Index(
                fields=["pool", "tenant", "next_attempt_at", "id"],
                name="index_task_retry_turn",
                condition=models.Q(state="RETRY_WAIT"),
            ),
        ),
    ]
