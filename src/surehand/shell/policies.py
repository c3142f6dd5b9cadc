"""Policies by name or from a file, what each failed check means, and the page of the documentation about both.

Laws of this module:

- A policy that is not understood to the last member is refused; none is ever replaced by another.
- ``docs/reference/policies.md`` is written by ``python -m surehand.shell.policies --write`` and by nothing else.
"""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
from attrs import fields
from returns.result import Failure

from surehand.core.outcome.evidence import CheckLevel
from surehand.core.outcome.result import FailedCheck
from surehand.core.workflow.policy import POLICIES, PROFILES, Policy, Requirements, parse_policy
from surehand.shell.config import ConfigError
from surehand.shell.reading import UnreadableError, no_larger, reading

#: Bytes that a policy file may have.
LARGEST_POLICY: Final = 1 << 16

#: Where the page lies in the repository.
PAGE: Final = Path("docs/reference/policies.md")

#: What each failed check means, and what to do about it.
EXPLAINED: Final[dict[FailedCheck, str]] = {
    FailedCheck.BROWSER_MISSING: "No Chromium is found. Install one: `surehand doctor` says what is looked for.",
    FailedCheck.BROWSER_NOT_STARTING: "The browser does not start. Start it by hand and see what it says.",
    FailedCheck.FENCE_NOT_STARTING: "The write fence does not start. Run `surehand doctor`.",
    FailedCheck.SANDBOX_NOT_STARTING: "The training app does not start. Run `surehand doctor`.",
    FailedCheck.BUNDLE_UNREADABLE: ("The bundle's folder is not accepted. `surehand bundle verify` names the reason."),
    FailedCheck.RECORD_CHECK_MISSING: "The way to read the record back is not set up. Compile the workflow again.",
    FailedCheck.APP_NOT_TRUSTED: "The app's certificate is not trusted here. Trust its issuer on this machine.",
    FailedCheck.APP_NEEDS_HTTP2: "The app speaks HTTP/2 alone. Have it speak HTTP/1.1 too.",
    FailedCheck.APP_REFUSES_TLS: "The app refuses the TLS connection, most often for want of a client certificate.",
    FailedCheck.PROXY_UNREACHABLE: "The proxy of the environment cannot be reached. Check its variables.",
    FailedCheck.PROXY_REFUSES: "The proxy refuses the connection to the app. Ask who runs it.",
    FailedCheck.PROXY_NOT_SUPPORTED: "The proxy of the environment is of a kind that is not supported.",
    FailedCheck.STORE_CORRUPT: "The run store is damaged. Run `surehand doctor`; nothing runs on it.",
    FailedCheck.STORE_UNAVAILABLE: "The run store cannot be opened. Run `surehand doctor`.",
    FailedCheck.STORE_OF_OTHER_KIND: "The state folder holds a run store of another kind. Use another folder.",
    FailedCheck.STORE_NEWER: "The run store was written by a newer version. Update Surehand.",
    FailedCheck.STORE_RESTORED: (
        "The run store was copied or restored. `surehand runs accept-restored` takes it over."
    ),
    FailedCheck.SANDBOX_ONLY: (
        "The profile `demo` is for the training app alone. Start with `--profile standard` and admit the workflow."
    ),
    FailedCheck.NOT_CERTIFIED: (
        "This version of the workflow was not certified here under the policy in force. Run `surehand certify`."
    ),
    FailedCheck.NOT_ADMITTED: (
        "No person admitted this version of the workflow under this policy and profile. Run `surehand admit`."
    ),
    FailedCheck.ADMISSION_EXPIRED: (
        "The admission is over, or this machine's clock stands before it. Run `surehand admit` again."
    ),
    FailedCheck.ADMISSION_REVOKED: "A person revoked the admission. Ask why before `surehand admit` is run again.",
    FailedCheck.NOT_ENCRYPTED: "The bundle lies readable. Run `surehand bundle seal` with a key.",
    FailedCheck.NOT_SEALED: "The bundle bears no seal of this machine. Run `surehand bundle seal`.",
    FailedCheck.IDENTITY_TOO_WEAK: (
        "Too few fields show which record is open, or too few of them are unique. Record the task again, "
        "with more of the record in view, and confirm them."
    ),
    FailedCheck.READ_BACK_INCOMPLETE: (
        "A unique field that shows which record is open is not compared in the record that is read back. "
        "Compile again with a source that shows it."
    ),
    FailedCheck.READ_BACK_TOO_WEAK: (
        "A weaker check than asked for would count as `done`. Compile again with a stronger minimum."
    ),
    FailedCheck.DUPLICATE_GUARD_MISSING: (
        "Nothing tells whether the record is there already. Compile again and confirm a business key."
    ),
    FailedCheck.SOCKETS_OPEN: "The app may open WebSockets, whose content nobody checks.",
    FailedCheck.TRANSPORT_NOT_PROTECTED: (
        "The app is reached without TLS over a network, or it is not said where it is. Use its `https` address."
    ),
}

#: What a policy can ask of a bundle, by the check that fails without it.
ASKED_OF_BUNDLES: Final[dict[FailedCheck, str]] = {
    FailedCheck.NOT_ENCRYPTED: "its files are encrypted at rest",
    FailedCheck.NOT_SEALED: "it is sealed by this machine",
    FailedCheck.IDENTITY_TOO_WEAK: "enough fields show which record is open",
    FailedCheck.READ_BACK_INCOMPLETE: "the unique ones of them are read back",
    FailedCheck.READ_BACK_TOO_WEAK: "only a check that is strong enough counts as done",
    FailedCheck.DUPLICATE_GUARD_MISSING: "it recognises a record that is there already",
    FailedCheck.SOCKETS_OPEN: "it opens no WebSockets",
    FailedCheck.TRANSPORT_NOT_PROTECTED: "its app is reached over TLS, or is on this machine",
}

_MEANING: Final = {
    "sandbox_only": "only the training app",
    "certification": "certified under the policy in force",
    "admission": "admitted by a person: this version, this policy, this profile or a more serious one, in time",
    "encryption": "files encrypted at rest",
    "seal": "sealed by this machine",
    "identity_fields": "fields that show which record is open, at least",
    "unique_identity_fields": "unique ones of these, at least",
    "identity_read_back": "the unique ones compared in the record that is read back",
    "read_back": "weakest check that counts as `done`",
    "duplicate_guard": "recognises a record that is there already",
    "no_sockets": "no WebSockets",
    "protected_transport": "the app over TLS, or on this machine",
}


def load_policy(name: str) -> Policy:
    """The policy of this name, or that of the TOML file at this path.

    Raises:
        ConfigError: There is neither, or the file is no policy.
    """
    if name in POLICIES:
        return POLICIES[name]
    try:
        with reading(), Path(name).open("rb") as stream:
            data = tomllib.loads(no_larger(stream.read(LARGEST_POLICY + 1), LARGEST_POLICY).decode())
    except UnreadableError as error:
        raise ConfigError(f"the policy is neither {_either()} nor the TOML file of one: {error}") from None
    read = parse_policy(data)
    if isinstance(read, Failure):
        faults = "; ".join(sorted({f"{_place(fault.path)} {fault.code.value}" for fault in read.failure()}))
        raise ConfigError(f"the policy file is not understood: {faults}")
    policy = read.unwrap()
    if policy.name in POLICIES:
        raise ConfigError("the policy file bears the name of a policy of ours")
    return policy


def _place(path: tuple[str | int, ...]) -> str:
    return ".".join(map(str, path)) or "as a whole"


def _either() -> str:
    return " nor ".join(POLICIES)


def policies_page() -> str:
    """The page of the documentation."""
    profiles = {profile.value: asked for profile, asked in PROFILES.items()}
    policies = {name: policy.requires for name, policy in POLICIES.items()}
    explained = (f"| `{check.value}` | {sentence} |" for check, sentence in EXPLAINED.items())
    parts = (
        _OPENING,
        "\n".join(_table("profile", profiles)),
        "\n".join(_table("policy", policies)),
        _OWN_POLICY,
        "\n".join(("| `failed_checks` | what it means, and what to do |", "|---|---|", *explained)),
    )
    return "\n\n".join(part.strip() for part in parts) + "\n"


_OPENING: Final = """
# Policies, profiles and the checks before a run

This page is made from the code by `python -m surehand.shell.policies --write`.

Before every run Surehand asks for what the server's *profile* and its *policy* ask for, whichever is more.
What is missing refuses the run as `not_ready_to_run` and is named in `failed_checks`; nothing is started.
`surehand run --dry-run` says the same beforehand, and `surehand certify` tells where in the bundle a check fails.

A profile says how serious the runs of a server are; a policy says what an organisation asks of a workflow.
Whatever both ask for, no bundle can be made without two fields that show which record is open, one of them unique,
and without reading back every value that is entered.
"""

_OWN_POLICY: Final = """
The training app is served under `demo`, which is refused for any other.
An admission for a more serious profile covers a less serious one; one for another policy covers nothing.
No profile asks for a check of the system of record, because few apps let their database be read; a policy file can.

## A policy of your own

A TOML file; what it does not say, it does not ask for. A member that is not known is refused.

```toml
schema = "surehand.policy/v1"
name = "our-clinic"
version = 1

[requires]
identity_fields = 3
read_back = "system_of_record"
duplicate_guard = true
```

A changed file is another policy: what was certified and admitted under the old one no longer counts.

## What each failed check means
"""


def _table(title: str, columns: dict[str, Requirements]) -> Iterator[str]:
    yield f"| {title} | {' | '.join(f'`{name}`' for name in columns)} |"
    yield "|---|" + "---|" * len(columns)
    for each in fields(Requirements):
        cells = (_cell(getattr(asked, each.name)) for asked in columns.values())
        yield f"| `{each.name}`: {_MEANING[each.name]} | {' | '.join(cells)} |"


def _cell(asked: object) -> str:
    if not asked:
        return ""
    return f"`{asked.name.lower()}`" if isinstance(asked, CheckLevel) else "yes" if asked is True else str(asked)


def main(arguments: list[str]) -> int:
    """Print the page, or write it with ``--write``; run from the root of the repository."""
    if arguments == ["--write"]:
        PAGE.write_text(policies_page(), encoding="utf-8")
    else:
        click.echo(policies_page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
