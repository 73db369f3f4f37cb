"""Pages whose commands run in order as they stand, with what they print.

A `console` block holds commands, each after a `$`, and what they print. A `python` block may be
followed by a `text` block with what it prints. All of a page happens in one folder.

    python tests/pages.py docs/tutorial.md

runs a page in a fresh folder and puts what was printed into it; with the Python of an environment
that has nothing but the wheel, that is what a new user sees.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIDTH = 100
_BLOCKS = re.compile(
    r"```console\n(?P<console>.*?)```|```python\n(?P<python>.*?)```(?:\n\n```text\n(?P<out>.*?)```)?",
    flags=re.S,
)
_COMMANDS = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", flags=re.M)


@dataclass(frozen=True)
class Step:
    """A command or a piece of Python, what the page says it prints, and what it printed."""

    code: str
    expected: str
    printed: str


def _run_command(command: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", command], env=environment, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{command} ends with {done.returncode}: {done.stdout}")
    return done.stdout


def _tidy(text: str) -> str:
    """Without the blanks that end lines, and without empty lines at the ends."""
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(lines).strip("\n") + "\n" if any(lines) else ""


def _environment(folder: Path) -> dict[str, str]:
    """With `longtail` and `python` being those of this Python, and lines of a fixed width."""
    bin_ = folder / ".bin"
    bin_.mkdir()
    for name, words in (("longtail", "-m longtail"), ("python", "")):
        (bin_ / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (bin_ / name).chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": str(WIDTH),
        "PYTHONUNBUFFERED": "1",
    }


def steps(page: str, folder: Path) -> Iterator[tuple[re.Match[str], list[Step]]]:
    """Run the blocks of a page in a folder, which is the current one, and give them in order."""
    space: dict[str, Any] = {"__name__": "page"}
    environment = _environment(folder)
    for block in _BLOCKS.finditer(page):
        if block["console"] is not None:
            yield (
                block,
                [
                    Step(command, expected, _tidy(_run_command(command, environment)))
                    for command, expected in _COMMANDS.findall(block["console"])
                ],
            )
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block["python"], "<page>", "exec"), space)
        yield block, [Step(block["python"], block["out"] or "", _tidy(out.getvalue()))]


def _written(block: re.Match[str], done: list[Step]) -> str:
    if block["console"] is not None:
        return "```console\n" + "".join(f"$ {s.code}\n{s.printed}" for s in done) + "```"
    (step,) = done
    text = f"```python\n{step.code}```"
    return f"{text}\n\n```text\n{step.printed}```" if step.printed else text


def rewrite(path: Path) -> None:
    """Run a page and put what was printed into it."""
    page, path = path.read_text("utf-8"), path.resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        parts, end = [], 0
        for block, done in steps(page, Path(folder)):
            parts += [page[end : block.start()], _written(block, done)]
            end = block.end()
        path.write_text("".join([*parts, page[end:]]), "utf-8")
        os.chdir(path.parent)


if __name__ == "__main__":
    for word in sys.argv[1:]:
        rewrite(Path(word))
