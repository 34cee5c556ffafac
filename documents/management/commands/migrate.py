"""`migrate`, as the owner of the tables: the application's role may not change them."""

from django.core.management.base import CommandParser
from django.core.management.commands import migrate


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        database = next(action for action in parser._actions if action.dest == "database")
        database.default = "owner"
        database.help = 'The connection to migrate through. Defaults to "owner", the role that owns the tables.'
