from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


def after_migrate(*, using: str, **_: Any) -> None:
    """The owner's part that follows every migration: grants, the pipeline that the settings describe, a group."""
    from documents.roles import grant
    from indexing import groups, pipelines
    from indexing.statements import FOLDER

    grant(using=using, path=FOLDER / "grants.sql")
    pipelines.ensure_default_pipeline(using=using)
    groups.ensure_operators(using=using)


class IndexingConfig(AppConfig):
    name = "indexing"
    verbose_name = _("Search index")

    def ready(self) -> None:
        from indexing import checks  # noqa: F401  (checks register themselves)

        post_migrate.connect(after_migrate, sender=self)
