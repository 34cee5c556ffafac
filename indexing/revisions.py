"""New revisions of pipelines: what is edited never changes, it becomes another one."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Max
from django.utils.translation import gettext as _

from documents.errors import InvalidInput, NotAllowed
from documents.querysets import User
from indexing.errors import EmbeddingUnavailable
from indexing.identity import config_digest
from indexing.models import Pipeline
from indexing.pipeline_config import Change, changed, difference
from indexing.pipelines import of_release
from indexing.providers import embedder_for


def create(
    *, actor: User | None, base: Pipeline, assignments: Sequence[str] = (), name: str = ""
) -> tuple[Pipeline, list[Change]]:
    """A new revision: `base` with `assignments` (`splitter.tokens=400`) under the code of this release, and what that changes.
    A configuration that is known is found, not made again; none ever changes.

    Raises `NotAllowed` for anybody but a superuser, and `InvalidInput`.
    """
    if actor is not None and not getattr(actor, "is_superuser", False):
        raise NotAllowed(_("Pipelines are made by administrators of the site; nothing was changed."))
    try:
        config = changed(of_release(base.config), assignments)
        embedder_for(config)
    except (ValueError, EmbeddingUnavailable) as error:
        raise InvalidInput(_("No pipeline was made: %(reason)s.") % {"reason": str(error).rstrip(".")}) from error
    changes, digest = difference(base.config, config), config_digest(config)
    known = Pipeline.objects.filter(digest=digest).first()
    if known is not None:
        return known, changes
    embedder = config["embedder"]
    last = Pipeline.objects.aggregate(last=Max("id"))["last"] or 0
    made = Pipeline.objects.create(
        id=last + 1,
        name=name or f"{embedder['model']} {embedder['dimensions']}d #{last + 1}",
        digest=digest,
        config=config,
        dimensions=embedder["dimensions"],
    )
    return made, changes
