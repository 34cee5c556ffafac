"""What an editor can do with a document: per command its form, its service, and what is said when it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop

from documents import publishing, uploading
from documents.admin.standing import Standing, with_standing
from documents.forms import (
    CommandForm,
    NewVersionForm,
    PublishForm,
    ReadersForm,
    RestoreForm,
    StalenessForm,
    read_upload,
)
from documents.models import Document
from documents.ports import IndexState
from documents.querysets import User


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A page that says what will happen before it does."""

    question: str
    consequences: tuple[str, ...]
    button: str
    danger: bool = True  # something is taken from readers


@dataclass(frozen=True, slots=True)
class Command:
    form: type[CommandForm]
    run: Callable[[User, Document, Any], str]  # (actor, document, valid form) -> what to tell the editor
    confirmation: Confirmation | None = None
    leaves: bool = False  # the editor goes back to the list


def _add_version(actor: User, document: Document, form: NewVersionForm) -> str:
    upload = form.cleaned_data["file"]
    version = uploading.add_version(
        actor=actor,
        document_id=document.pk,
        revision=form.cleaned_data["revision"],
        data=read_upload(upload),
        file_name=upload.name,
        title=form.cleaned_data["title"] or None,
    )
    return _("v%(number)d was uploaded. Readers see no change until you publish it.") % {"number": version.number}


def _publish(actor: User, document: Document, form: PublishForm) -> str:
    published = publishing.publish_version(
        actor=actor,
        document_id=document.pk,
        revision=form.cleaned_data["revision"],
        version_number=form.cleaned_data["version_number"],
        readers=form.readers,
    )
    standing = Standing.of(with_standing(Document.objects.filter(pk=document.pk)).get())
    facts = {"number": published.version_number, "seen": standing.searchable_words}
    if standing.state is IndexState.SEARCHABLE:
        return _("v%(number)d is published and searchable.") % facts
    if standing.published != published.version_number:
        return _("v%(number)d comes into force when it is indexed; readers see %(seen)s until then.") % facts
    if standing.searchable is None:
        return (
            _("v%(number)d is published. It becomes searchable when it is indexed; readers find nothing until then.")
            % facts
        )
    return (
        _("v%(number)d is published. It becomes searchable when it is indexed; readers see %(seen)s until then.")
        % facts
    )


def _set_readers(actor: User, document: Document, form: ReadersForm) -> str:
    publishing.set_readers(
        actor=actor, document_id=document.pk, revision=form.cleaned_data["revision"], readers=form.readers or []
    )
    return _("The readers were changed. Whoever was removed finds nothing from now on.")


def _restore(actor: User, document: Document, form: RestoreForm) -> str:
    version = uploading.restore_version(
        actor=actor,
        document_id=document.pk,
        revision=form.cleaned_data["revision"],
        version_number=form.cleaned_data["version_number"],
    )
    numbers = {"old": version.restored_from, "number": version.number}
    return _("v%(old)d was restored as v%(number)d. Readers see no change until you publish it.") % numbers


def _set_staleness(actor: User, document: Document, form: StalenessForm) -> str:
    publishing.set_staleness(
        actor=actor,
        document_id=document.pk,
        revision=form.cleaned_data["revision"],
        staleness=form.cleaned_data["staleness"],
        max_seconds=form.max_seconds,
        past_maximum=form.cleaned_data["past_maximum"] or Document.PastMaximum.ALERT,
    )
    return _("Saved. What readers get holds from the next publication on, the longest time at once.")


def _retry(actor: User, document: Document, form: CommandForm) -> str:
    publishing.retry_indexing(actor=actor, document_id=document.pk)
    return _("Indexing is tried again.")


def _withdraw(actor: User, document: Document, form: CommandForm) -> str:
    publishing.withdraw_document(actor=actor, document_id=document.pk, revision=form.cleaned_data["revision"])
    return _("The document is withdrawn. Readers find nothing of it until you publish a version again.")


def _delete(actor: User, document: Document, form: CommandForm) -> str:
    publishing.delete_document(actor=actor, document_id=document.pk, revision=form.cleaned_data["revision"])
    return _("“%(title)s” is deleted. Nobody finds it any more.") % {"title": document.title}


COMMANDS: dict[str, Command] = {
    "upload": Command(NewVersionForm, _add_version),
    "publish": Command(PublishForm, _publish),
    "readers": Command(ReadersForm, _set_readers),
    "restore": Command(RestoreForm, _restore),
    "staleness": Command(StalenessForm, _set_staleness),
    "retry": Command(
        CommandForm,
        _retry,
        Confirmation(
            noop("Try to index “%(title)s” again?"),
            (
                noop("Readers go on finding what they find now until it is searchable."),
                noop("What was computed before is not computed again."),
                noop("The failures counted so far are forgotten for good. It can be cancelled again at any time."),
            ),
            noop("Try again now"),
            danger=False,
        ),
    ),
    "withdraw": Command(
        CommandForm,
        _withdraw,
        Confirmation(
            noop("Withdraw “%(title)s”?"),
            (
                noop("Readers find nothing of it from the next search on."),
                noop("Indexing that waits is cancelled."),
                noop("Versions, readers and history are kept; publishing a version ends the withdrawal."),
            ),
            noop("Withdraw"),
        ),
    ),
    "delete": Command(
        CommandForm,
        _delete,
        Confirmation(
            noop("Delete “%(title)s”?"),
            (
                noop("Readers find nothing of it from the next search on."),
                noop("All versions, their files and everything made from them are removed soon afterwards."),
                noop("This cannot be undone. If readers should only not see it for now, withdraw it instead."),
            ),
            noop("Delete for good"),
        ),
        leaves=True,
    ),
}
