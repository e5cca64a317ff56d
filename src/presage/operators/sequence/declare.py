"""CREATE MODEL, and the check of inferred streams against their model."""

from __future__ import annotations

from presage.declarations.catalog_objects import refuse_known
from presage.declarations.extension import DeclarationContext, Declarations
from presage.errors import placed
from presage.lang.sequence_syntax import CreateModel
from presage.model.catalog import Catalog, EventType, Model
from presage.model.paths import read_text
from presage.model.text import Span


def declare_model(node: CreateModel, context: DeclarationContext, again: bool) -> Catalog:
    """The catalog with a new model, whose file is validated."""
    refuse_known(node.name, context.catalog, node.span)
    if again:
        return context.catalog.with_model(Model(node.name, node.path, ""))
    # Imported here and below: most declarations need neither.
    from presage.operators.sequence.inference.model import model_of_text

    with placed(node.span):
        path = context.resolve(node.path)
        text = read_text(path, context.allowed)
        model_of_text(text, path)
    return context.catalog.with_model(Model(node.name, path, text))


def check_stream(stream: EventType, catalog: Catalog, span: Span) -> None:
    """Check that an inferred stream fits its model."""
    if stream.inference is None:
        return
    from presage.operators.sequence.analyze_inference import check_inferred

    check_inferred(stream, catalog, span)


DECLARATIONS = Declarations({CreateModel: declare_model}, check_stream)
