"""What all workers know together about an embedding provider (sql/schema/0004_providers.sql)."""

from pathlib import Path

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Now
from pgvector.django import VectorField

SCHEMA = Path(__file__).parent.parent / "sql" / "schema" / "0004_providers.sql"


class Migration(migrations.Migration):
    dependencies = [("indexing", "0003_enforcement")]
    operations = [
        migrations.AddField(
            "indextask",
            "error_places",
            models.JSONField(null=True, help_text="where the texts at fault stand, if the last failure named any"),
        ),
        migrations.CreateModel(
            name="EmbeddingCanary",
            fields=[
                ("fingerprint", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("embedding", VectorField()),
                ("created_at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "embedding_canary"},
        ),
        migrations.CreateModel(
            name="EmbeddingProvider",
            fields=[
                (
                    "name",
                    models.CharField(
                        help_text="host and port",
                        max_length=300,
                        primary_key=True,
                        serialize=False,
                        verbose_name="provider",
                    ),
                ),
                ("outages", models.PositiveIntegerField(db_default=0)),
                ("timed_out", ArrayField(models.BigIntegerField(), db_default=[], size=None)),
                ("throttles", models.PositiveIntegerField(db_default=0)),
                ("openings", models.PositiveIntegerField(db_default=0)),
                (
                    "open_until",
                    models.DateTimeField(help_text="the breaker is open if set, half-open once it is over", null=True),
                ),
                ("since", models.DateTimeField(help_text="when the breaker opened", null=True)),
                ("code", models.CharField(max_length=50, null=True)),
                ("detail", models.TextField(db_default="")),
                ("probe_token", models.CharField(max_length=64, null=True)),
                ("probe_until", models.DateTimeField(null=True)),
                ("cooldown_until", models.DateTimeField(null=True)),
                (
                    "requests_left",
                    models.FloatField(
                        help_text="of the budget when it was last refilled; below zero: debts", null=True
                    ),
                ),
                ("texts_left", models.FloatField(null=True)),
                ("refilled_at", models.DateTimeField(null=True)),
                (
                    "last_success_at",
                    models.DateTimeField(help_text="within a minute", null=True, verbose_name="last success"),
                ),
            ],
            options={
                "db_table": "embedding_provider",
                "verbose_name": "embedding provider",
                "verbose_name_plural": "embedding providers",
                "default_permissions": ("view",),
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(open_until=None) | Q(code__isnull=False, since__isnull=False),
                        name="embedding_provider_open_has_reason",
                    ),
                    models.CheckConstraint(
                        condition=Q(probe_token=None, probe_until=None)
                        | Q(probe_token__isnull=False, probe_until__isnull=False),
                        name="embedding_provider_probe_has_deadline",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProviderEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("provider", models.CharField(max_length=300)),
                ("kind", models.CharField(help_text="opened, closed, or asked (by a person)", max_length=10)),
                ("code", models.CharField(max_length=50, null=True)),
                ("detail", models.TextField(default="")),
                ("actor_id", models.BigIntegerField(null=True)),
                ("actor_name", models.CharField(default="", max_length=150)),
                ("at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "provider_event",
                "ordering": ["-id"],
                "default_permissions": (),
                "indexes": [models.Index(fields=["provider", "-id"], name="provider_event_of_provider")],
            },
        ),
        migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), migrations.RunSQL.noop),
    ]
