"""CREATE MODEL, and the check of inferred streams against their model."""

from __future__ import annotations

from presage.declarations.catalog_objects import refuse_known
from presage.declarations.extension import DeclarationContext, Declarations
from presage.errors import placed
from presage.lang.sequence_syntax import CreateModel
from presage.model.catalog import Catalog, Model
from presage.model.paths import read_text
from presage.operators.sequence.analyze_inference import check_inferred
from presage.operators.sequence.inference.model import model_of_text


def declare_model(node: CreateModel, context: DeclarationContext, again: bool) -> Catalog:
    """The catalog with a new model, whose file is validated."""
    refuse_known(node.name, context.catalog, node.span)
    if again:
        return context.catalog.with_model(Model(node.name, node.path, ""))
    with placed(node.span):
        path = context.resolve(node.path)
        text = read_text(path, context.allowed)
        model_of_text(text, path)
    return context.catalog.with_model(Model(node.name, path, text))


DECLARATIONS = Declarations({CreateModel: declare_model}, check_inferred)
