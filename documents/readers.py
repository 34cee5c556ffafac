"""READ rules of a version: who is meant, who is allowed, and what changes at once.

A reader of the version that is served is among that version's own readers *and* among the readers of the version that was
asked for last. So taking somebody off works with the next query, and somebody added sees the new text as soon as it is
searchable; older text only if they were among that version's own readers and are put back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from documents.errors import UnknownReader
from documents.models import Document, DocumentVersion, Membership, ReaderGroup, ReadRule


@dataclass(frozen=True, slots=True)
class Reader:
    """`type` is user, group or everyone; `name` is a user name or group name, empty for everyone."""

    type: str
    name: str = ""

    def as_json(self) -> dict[str, str]:
        return {"type": self.type, "name": self.name} if self.name else {"type": self.type}


def resolve(*, tenant_id: int, readers: Iterable[Reader]) -> list[ReadRule]:
    """Unsaved rules for `readers`, each once. Raises `UnknownReader` for a name that is not known in this tenant."""
    rules: dict[Reader, ReadRule] = {}
    for reader in readers:
        if reader.type == ReadRule.Kind.EVERYONE:
            rules[Reader("everyone")] = ReadRule(kind=ReadRule.Kind.EVERYONE)
        elif reader.type == ReadRule.Kind.GROUP:
            group = ReaderGroup.objects.filter(tenant=tenant_id, name=reader.name).first()
            if group is None:
                sentence = _("There is no group “%(name)s” in this tenant; nothing was changed.")
                raise UnknownReader(sentence % {"name": reader.name})
            rules[reader] = ReadRule(kind=ReadRule.Kind.GROUP, group=group)
        elif reader.type == ReadRule.Kind.USER:
            member = Membership.objects.filter(tenant=tenant_id, user__username=reader.name).first()
            if member is None:
                sentence = _("There is no member “%(name)s” in this tenant; nothing was changed.")
                raise UnknownReader(sentence % {"name": reader.name})
            rules[reader] = ReadRule(kind=ReadRule.Kind.USER, membership=member)
        else:
            sentence = _("A reader's type is user, group or everyone, not “%(type)s”; nothing was changed.")
            raise UnknownReader(sentence % {"type": reader.type})
    return list(rules.values())


def replace_rules(*, version: DocumentVersion, rules: Sequence[ReadRule]) -> None:
    """Make `rules` the only ones of `version`."""
    version.read_rules.all().delete()
    for rule in rules:
        rule.version, rule.document_id, rule.version_number = version, version.document_id, version.number
    ReadRule.objects.bulk_create(rules)


def copy_rules(*, document: Document, from_number: int, to: DocumentVersion) -> list[ReadRule]:
    """Give `to` the rules that version `from_number` has now."""
    current = ReadRule.objects.filter(document=document, version_number=from_number)
    rules = [ReadRule(kind=rule.kind, group_id=rule.group_id, membership_id=rule.membership_id) for rule in current]
    replace_rules(version=to, rules=rules)
    return rules


def readers_of(*, document: Document, version_number: int) -> list[Reader]:
    """The readers of one version, everyone first, then by type and name."""
    rules = ReadRule.objects.filter(document=document, version_number=version_number)
    rules = rules.select_related("group", "membership__user")
    readers = []
    for rule in rules:
        if rule.group is not None:
            readers.append(Reader("group", rule.group.name))
        elif rule.membership is not None:
            readers.append(Reader("user", rule.membership.user.get_username()))
        else:
            readers.append(Reader("everyone"))
    return sorted(readers, key=lambda reader: (reader.type != "everyone", reader.type, reader.name))
