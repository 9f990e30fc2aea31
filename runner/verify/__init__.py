"""Verification: stored cells run again on their images, and every old figure is compared with the new one.

read.py      files to records, each by its own content hash
images.py    the images that the records name, and what replaces them
again.py     records to plans that the ordinary run carries out in a store of its own
binding.py   records to the matrix whose work they are, or are not
obstacles.py what keeps a figure from being judged
judge.py     old and new records to findings: reproduced, differs, inconclusive
ranks.py     how many times faster than its reference, then and now
findings.py  the types that these share
report.py    findings as text and as JSON
"""
