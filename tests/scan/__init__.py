"""Looks for what must not leave a host: secrets, certificates, and what tells whose host it was.

rules.py     what a secret, a certificate and a private file look like
host.py      what is private about this very host
archive.py   every file of every layer of `docker save`, as a stream, each layer once
"""
