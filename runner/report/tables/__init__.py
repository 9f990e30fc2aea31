"""From records to Markdown pages: view models in Python, prose in templates/."""

from pathlib import Path

# This package imports nothing else: a call decides whether to render pages without the libraries that render them.
TEMPLATES = Path(__file__).parents[3] / "templates"
