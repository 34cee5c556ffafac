"""The freshness contract of a document: a longest staleness, what happens past it, and alerts that are open. Columns with
constant defaults and a new table: nothing is rewritten. The partial index is empty at first: it takes one scan."""

import django.db.models.deletion
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("documents", "0004_sources")]
    operations = [
        migrations.AddField(
            "document",
            "max_staleness_seconds",
            models.PositiveIntegerField(
                help_text="seconds; null: KB_MAX_STALENESS_SECONDS", null=True, verbose_name="longest staleness"
            ),
        ),
        migrations.AddField(
            "document",
            "past_maximum",
            models.CharField(
                choices=[
                    ("alert", "tell editors and operators, and go on serving it"),
                    ("withhold", "tell them, and show it no longer"),
                ],
                db_default="alert",
                default="alert",
                max_length=8,
                verbose_name="text that is too stale",
            ),
        ),
        migrations.AddField(
            "document",
            "is_behind",
            models.BooleanField(
                db_default=False,
                default=False,
                help_text="the version asked for last may not be searchable yet: where to look; whether it is, the index says",
            ),
        ),
        migrations.AlterField(
            "publication", "requested_at", models.DateTimeField(db_default=Now(), verbose_name="requested")
        ),
        migrations.AddIndex(
            "document",
            models.Index(condition=Q(("is_behind", True)), fields=["tenant", "id"], name="document_behind"),
        ),
        # Every row has the default, so there is nothing to look at.
        AddConstraintNotValid(
            "document",
            models.CheckConstraint(
                condition=Q(("past_maximum", "withhold"), _negated=True) | Q(("max_staleness_seconds__isnull", False)),
                name="document_withholds_after_its_own_maximum",
            ),
        ),
        migrations.CreateModel(
            name="StalenessAlert",
            fields=[
                (
                    "document",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="staleness_alert",
                        serialize=False,
                        to="documents.document",
                    ),
                ),
                ("version_number", models.PositiveIntegerField(help_text="that readers are waiting for")),
                ("behind_since", models.DateTimeField(help_text="since when they have been")),
                ("max_seconds", models.PositiveIntegerField(help_text="how long they should have been at most")),
                ("raised_at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "staleness_alert"},
        ),
    ]
