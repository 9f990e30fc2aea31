"""The summary: the tables and key findings of rlox's benchmark report, from the records of this run.

places.py     where benchmarks were run
declared.py   the rows and columns of each table
cells.py      the text of a cell
tables.py     a declared table, filled from the rooms of one place
findings/     what that report finds, and whether it holds here
view.py       the view of the page
"""
