"""From records to Markdown pages: view models in Python, prose in templates/."""

from pathlib import Path

# Nothing else is imported here: whether pages are to be rendered at all is decided without what renders them.
TEMPLATES = Path(__file__).parents[3] / "templates"
