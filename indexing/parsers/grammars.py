"""What a definition is in each programming language: names of nodes of its tree-sitter grammar.

The names are those of each grammar's `node-types.json`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from tree_sitter import Language, Parser


@dataclass(frozen=True, slots=True)
class Grammar:
    """`units` are functions, types and the like; `containers` those of them that have others in their body. `wrappers` stand
    around one unit (decorators, exports), `transparent` nodes around many (conditions of the preprocessor)."""

    module: str
    units: frozenset[str]
    containers: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    transparent: frozenset[str] = frozenset()
    function: str = "language"

    def parser(self) -> Parser:
        return Parser(Language(getattr(import_module(self.module), self.function)()))


def _names(*words: str) -> frozenset[str]:
    return frozenset(name for word in words for name in word.split())


_JS = "function_declaration generator_function_declaration class_declaration method_definition lexical_declaration"
_TS = "abstract_class_declaration interface_declaration enum_declaration type_alias_declaration internal_module module"
_JS_CONTAINERS = "class_declaration abstract_class_declaration internal_module module"
_JS_WRAPPERS = "export_statement expression_statement ambient_declaration"
_C = "function_definition struct_specifier union_specifier enum_specifier type_definition"
_C_TRANSPARENT = "preproc_ifdef preproc_if preproc_else preproc_elif linkage_specification declaration_list"
_JAVA = "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration"
_C_SHARP = "class_declaration struct_declaration interface_declaration record_declaration namespace_declaration"
_RUST = "trait_item impl_item mod_item"
_PHP = "class_declaration interface_declaration trait_declaration enum_declaration namespace_definition"

GRAMMARS = {
    "python": Grammar(
        "tree_sitter_python",
        _names("function_definition class_definition"),
        _names("class_definition"),
        _names("decorated_definition"),
        _names("if_statement try_statement block"),
    ),
    "javascript": Grammar("tree_sitter_javascript", _names(_JS), _names(_JS_CONTAINERS), _names(_JS_WRAPPERS)),
    "typescript": Grammar(
        "tree_sitter_typescript",
        *(_names(_JS, _TS), _names(_JS_CONTAINERS), _names(_JS_WRAPPERS)),
        function="language_typescript",
    ),
    "tsx": Grammar(
        "tree_sitter_typescript",
        *(_names(_JS, _TS), _names(_JS_CONTAINERS), _names(_JS_WRAPPERS)),
        function="language_tsx",
    ),
    "java": Grammar("tree_sitter_java", _names(_JAVA, "method_declaration constructor_declaration"), _names(_JAVA)),
    "go": Grammar("tree_sitter_go", _names("function_declaration method_declaration type_declaration")),
    "rust": Grammar(
        "tree_sitter_rust",
        _names(_RUST, "function_item struct_item enum_item union_item macro_definition"),
        _names(_RUST),
    ),
    "c": Grammar("tree_sitter_c", _names(_C), transparent=_names(_C_TRANSPARENT)),
    "cpp": Grammar(
        "tree_sitter_cpp",
        _names(_C, "class_specifier namespace_definition concept_definition"),
        _names("class_specifier struct_specifier namespace_definition"),
        _names("template_declaration"),
        _names(_C_TRANSPARENT),
    ),
    "csharp": Grammar(
        "tree_sitter_c_sharp",
        _names(_C_SHARP, "enum_declaration method_declaration constructor_declaration delegate_declaration"),
        _names(_C_SHARP),
        transparent=_names("file_scoped_namespace_declaration"),
    ),
    "ruby": Grammar("tree_sitter_ruby", _names("class module method singleton_method"), _names("class module")),
    "php": Grammar(
        "tree_sitter_php", _names(_PHP, "function_definition method_declaration"), _names(_PHP), function="language_php"
    ),
    "shell": Grammar("tree_sitter_bash", _names("function_definition")),
}
