"""The editors' door. It holds no rule of its own: it shows what the querysets permit and calls the services."""

from documents.admin import administration, document_list, hold_list, source_list

__all__ = ["administration", "document_list", "hold_list", "source_list"]
