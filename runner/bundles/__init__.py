"""A bundle: results with everything that running them again needs, in one file that needs no registry and no network.

contents.py  what lies where in a bundle
write.py     results and images to a bundle
pack.py      what a user asked for to the files that go in
read.py      a bundle to a checked folder
"""
