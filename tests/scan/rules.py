"""What a secret, a certificate and a private file look like, and where each is looked for."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate

# Larger files are programs and data; smaller ones without a NUL may be what a person wrote.
LARGEST_TEXT = 2**20
# Nothing that is looked for is longer, but for keys and certificates, which are known by how they begin.
OVERLAP = 4096


@dataclass(frozen=True)
class Finding:
    """What was found and where. ``excerpt`` shows its beginning alone: a log is no place for a secret."""

    path: str
    rule: str
    excerpt: str

    def __str__(self) -> str:
        return f"{self.path}: {self.rule}: {self.excerpt}"


@dataclass(frozen=True)
class Rule:
    """A pattern, matched where one of its ``anchors`` stands: a gigabyte is searched for those alone.

    ``text_only`` where compiled code and tables of numbers would give chance hits.
    """

    name: str
    anchors: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    text_only: bool = False


@dataclass(frozen=True)
class Expected:
    """What is there for a reason: files, by a pattern of their paths, in which one rule is not applied."""

    paths: str
    rule: str
    reason: str


def _rule(name: str, anchors: str, pattern: bytes, *, text_only: bool = False) -> Rule:
    return Rule(name, tuple(each.encode() for each in anchors.split(" ")), re.compile(pattern), text_only)


# A backslash too: in a string literal the ends of lines are spelt.
_BASE64 = rb"[A-Za-z0-9+/=\\\s]"
_BEGIN = "-----BEGIN"
RULES = (
    _rule(
        "private key", _BEGIN, rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----" + _BASE64 + rb"{40}"
    ),
    _rule("certificate", _BEGIN, rb"-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----" + _BASE64 + rb"{40}"),
    _rule("AWS key", "AKIA ASIA", rb"(?<![A-Za-z0-9])A(?:KIA|SIA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
    _rule("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", rb"(?<![A-Za-z0-9_])gh[pousr]_[A-Za-z0-9]{36}"),
    _rule("GitHub token", "github_pat_", rb"(?<![A-Za-z0-9_])github_pat_[A-Za-z0-9_]{22,}"),
    _rule("GitLab token", "glpat-", rb"(?<![A-Za-z0-9_])glpat-[A-Za-z0-9_-]{20}"),
    _rule("Slack token", "xoxa- xoxb- xoxp- xoxr- xoxs-", rb"(?<![A-Za-z0-9_])xox[abprs]-[A-Za-z0-9-]{10,}"),
    _rule("Google key", "AIza", rb"(?<![A-Za-z0-9_])AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _rule("PyPI token", "pypi-AgE", rb"(?<![A-Za-z0-9_])pypi-AgE[A-Za-z0-9_-]{40,}"),
    _rule(
        "JSON web token",
        "eyJhbGciOi",
        rb"(?<![A-Za-z0-9_])eyJhbGciOi[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.",
    ),
    _rule(
        "password in an address",
        "://",
        rb"://[A-Za-z0-9._~%-]{1,64}:[^\s@/'\"<>{}$()]{3,64}@[A-Za-z0-9]",
        text_only=True,
    ),
)

# In files of ours, in records, logs and configuration; libraries are full of parameters of such names.
ASSIGNMENT = "password or token"
_ASSIGNMENT = re.compile(
    rb"(?i)\b[A-Za-z0-9_]*(?:password|passwd|passphrase|secret|api_?key|auth_?token|access_?token)[\"']?\s*[=:]\s*"
    rb"[\"']?(?=[A-Za-z0-9+/_.~-]*[0-9])[A-Za-z0-9+/_.~-]{8,}"
)

# Files that hold nothing but what is private, by name.
PRIVATE_FILES = (
    "*.pem", "*.crt", "*.cer", "*.der", "*.key", "*.p12", "*.pfx", "*.jks", "*.kdbx", "*.keytab", "*.ovpn",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "authorized_keys", "known_hosts", ".netrc", "_netrc", ".pypirc",
    ".npmrc", ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd", "credentials", "credentials.json", "pip.conf",
    ".env", ".bash_history", ".python_history", ".dockercfg", ".dockerconfigjson", "shadow-", "*.secret",
)  # fmt: skip
PRIVATE_PATHS = (
    "*/.ssh/*", "*/.aws/*", "*/.gnupg/*", "*/.docker/*", "*/.kube/*", "*/.cargo/config*", "*/.cargo/credentials*",
    "*/.config/pip/*", "*/.config/gcloud/*", "/run/secrets/*", "/etc/apt/*", "/etc/ssl/*", "/etc/resolv.conf",
    "/etc/hostname", "/usr/local/share/ca-certificates/*", "/usr/share/ca-certificates/*",
)  # fmt: skip


_PRIVATE_FILE, _PRIVATE_PATH = (
    re.compile("|".join(translate(each) for each in patterns)) for patterns in (PRIVATE_FILES, PRIVATE_PATHS)
)


class Scanner:
    """Applies all rules to files, one after another."""

    def __init__(self, private: Sequence[tuple[str, bytes]] = (), expected: Sequence[Expected] = ()) -> None:
        """Take what is private about the host (a name and the bytes of each), and what is expected."""
        self._expected = expected
        rules = [*RULES, *(Rule(name, (value,), re.compile(re.escape(value))) for name, value in private)]
        self._everywhere = _Rules([rule for rule in rules if not rule.text_only])
        self._in_text = _Rules([rule for rule in rules if rule.text_only])

    def name(self, path: str) -> Iterator[Finding]:
        """What the name of a file alone says. ``path`` is absolute."""
        file = path.rpartition("/")[2]
        if _PRIVATE_FILE.match(file) or _PRIVATE_PATH.match(path):
            yield from self._unless_expected(Finding(path, "private file", file))

    def content(self, path: str, blocks: Iterator[bytes], *, ours: bool = False) -> Iterator[Finding]:
        """What a file holds. ``blocks`` are its bytes in order; ``ours`` says that no library wrote it."""
        rest = b""
        first = True
        for block in blocks:
            data = rest + block
            text = first and len(data) <= LARGEST_TEXT and b"\0" not in data
            hits = [*self._everywhere.find(data), *(self._in_text.find(data) if text else ())]
            if ours:
                hits += [(ASSIGNMENT, found.group()) for found in _ASSIGNMENT.finditer(data)]
            for name, found in hits:
                shown = found[:12].decode("ascii", "backslashreplace")
                yield from self._unless_expected(Finding(path, name, f"{shown}…"))
            rest, first = data[-OVERLAP:], False

    def _unless_expected(self, finding: Finding) -> Iterator[Finding]:
        if not any(
            each.rule == finding.rule and fnmatchcase(finding.path, each.paths) for each in self._expected
        ):
            yield finding


class _Rules:
    """Several rules; all of their anchors are searched for in one pass."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules: dict[bytes, list[Rule]] = {}
        for rule in rules:
            for anchor in rule.anchors:
                self._rules.setdefault(anchor, []).append(rule)
        # Longest first: of two that begin alike the longer one is tried before it is hidden. No groups, which
        # would cost the search its table of first bytes, and six sevenths of its speed.
        anchors = sorted(self._rules, key=len, reverse=True)
        self._anchors = re.compile(b"|".join(re.escape(anchor) for anchor in anchors))

    def find(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        """The name of the rule and what matched, for each match."""
        for anchor in self._anchors.finditer(data):
            for rule in self._rules[anchor.group()]:
                found = rule.pattern.match(data, anchor.start())
                if found is not None:
                    yield rule.name, found.group()
