"""Prints what is no event, with what steers a terminal in it."""

print("\x1b]0;owned\x07\x1b[2J | 17 seconds, <img src=x onerror=alert(1)> honestly")
