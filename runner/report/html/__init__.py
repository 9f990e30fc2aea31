"""From Markdown pages to one HTML file that needs nothing else: no script, font or picture from elsewhere.

pages.py    a page's Markdown as HTML: headings, links between pages, plots within the file
report.py   all pages in one file, with templates/report.html.j2 around them
"""

# The file's name, for a call that renders nothing itself.
REPORT = "report.html"
