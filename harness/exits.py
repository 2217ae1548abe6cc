"""How the `harness` command ends: one line and an exit code for whatever goes wrong, and no report is lost to it."""

from __future__ import annotations

import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import click

from harness.engine import expectations
from harness.engine.usage import UsageError
from harness.model.run import RunRecord
from harness.report.publish import write_all
from harness.report.record import ReportError

HARNESS, USAGE, INTERRUPTED = 3, 64, 130  # EX_USAGE of sysexits.h; 128 + SIGINT


class Group(click.Group):
    """Says what is wrong with the input in one line, and exits 64; 3 if it is the harness that fails."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; SIGTERM, by which CI stops a job, ends it as SIGINT does."""
        kwargs["standalone_mode"] = False
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            sys.exit(super().main(*args, **kwargs) or 0)
        except (UsageError, ReportError) as error:
            click.echo(f"harness: {error}", err=True)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            sys.exit(0)
        except click.ClickException as error:
            click.echo(f"harness: {error.format_message()}", err=True)
        except click.exceptions.Exit as error:
            sys.exit(error.exit_code)
        except click.Abort:
            click.echo("harness: interrupted", err=True)
            sys.exit(INTERRUPTED)
        except OSError as error:
            click.echo(f"harness: cannot go on: {error}", err=True)
            sys.exit(HARNESS)
        except Exception:  # noqa: BLE001 - the last frame: python's own exit code 1 would say that a backend is worse
            traceback.print_exc()
            sys.exit(HARNESS)
        sys.exit(USAGE)


def published(record: RunRecord, root: Path) -> bool:
    """Write a run's report; whether that could be done. What was judged can still be printed if not."""
    try:
        write_all(record, root)
    except OSError as error:
        click.echo(f"harness: {root}: the report cannot be written: {error}", err=True)
        return False
    return True


def code(record: RunRecord, *, written: bool, strict: bool = False) -> int:
    """The exit code of a run; `written` says whether its report could be."""
    if record.failed or not written:
        return HARNESS
    return (
        INTERRUPTED if record.interrupted else expectations.exit_code(record.cells, strict=strict)
    )
