"""From records to Markdown pages: view models in Python, prose in templates/."""

from runner.tables.pages import Page, render_benchmark, render_overview, render_pages
from runner.tables.write import write_tables

__all__ = ["Page", "render_benchmark", "render_overview", "render_pages", "write_tables"]
