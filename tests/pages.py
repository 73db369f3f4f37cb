"""Pages whose commands run in order as they stand, with what they print.

A `console` block holds commands, each after a `$`, and what they print. A `python` block may be
followed by a `text` block with what it prints. A block with a title is a file of that name. What
sets up an environment (`pip`, `make`, ...) is not run, nor is Python that reads benchmark sets from
the folder `LONGTAIL_DATA`. A comment `<!-- fresh environment -->`
begins a task of its own, with nothing of what stands before it, one that says
`<!-- fresh environment, report -->` a task that needs an extra. A page without them is one task.

    python tests/pages.py docs/walkthroughs.md --wheel dist/longtail-0.1.0-py3-none-any.whl

runs each task in an empty folder, in a new environment that has the wheel and nothing else, and
puts what was printed into the page: what a new user sees. Without `--wheel` it is this environment.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

WIDTH = 100
SETTING_UP = ("pip ", "make ", "python3 -m venv ", ". ")
"""How commands begin that make or fill an environment."""
BENCHMARK_SETS = 'os.environ["LONGTAIL_DATA"]'
"""What Python has in it that would take a download, and mostly minutes."""
_TASK = re.compile(r"^(?=<!-- fresh environment)", flags=re.M)
_EXTRAS = re.compile(r"<!-- fresh environment, (.*?) -->")
_BLOCKS = re.compile(
    r"```console\n(?P<console>.*?)```"
    r"|```python\n(?P<python>.*?)```(?:\n\n```text\n(?P<out>.*?)```)?"
    r'|```\w+ title="(?P<file>[^"]+)"\n(?P<content>.*?)```',
    flags=re.S,
)
_COMMANDS = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", flags=re.M)
_VERSIONS = re.compile(r"<!-- printed with (.*?) -->")


@dataclass(frozen=True)
class Step:
    """A command or a piece of Python, what the page says it prints, and what it printed."""

    code: str
    expected: str
    printed: str


def tasks(page: str) -> list[str]:
    """What is run by itself: the parts that begin with the comment, or else the whole page."""
    before, *parts = _TASK.split(page)
    return parts or [before]


def python_blocks(page: str) -> list[str]:
    """The Python of a page, in order, without what needs benchmark sets."""
    blocks = (block["python"] for block in _BLOCKS.finditer(page))
    return [code for code in blocks if code is not None and BENCHMARK_SETS not in code]


def versions() -> str:
    """Of what the built-in data set is made of: with others, other numbers are printed."""
    return ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))


def versions_of(page: str) -> str | None:
    """What `versions` was when the page was printed."""
    found = _VERSIONS.search(page)
    return found[1] if found else None


def run_command(command: str, environment: dict[str, str]) -> str:
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


def steps(
    task: str, folder: Path, run: Callable[[str, dict[str, str]], str] = run_command
) -> Iterator[tuple[re.Match[str], list[Step]]]:
    """Run the blocks of a task in a folder, which is the current one, and give them in order."""
    space: dict[str, Any] = {"__name__": "page"}
    environment = _environment(folder)
    for block in _BLOCKS.finditer(task):
        if block["file"] is not None:
            (folder / block["file"]).write_text(block["content"], "utf-8")
        elif block["console"] is not None:
            commands = _COMMANDS.findall(block["console"])
            if not commands[0][0].startswith(SETTING_UP):
                yield (
                    block,
                    [
                        Step(command, expected, _tidy(run(command, environment)))
                        for command, expected in commands
                    ],
                )
        elif BENCHMARK_SETS not in block["python"]:
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


def _rerun(task: str) -> str:
    """The text of a task with what is printed now, in a folder of its own."""
    parts, end = [], 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block, done in steps(task, Path(folder)):
            parts += [task[end : block.start()], _written(block, done)]
            end = block.end()
    return "".join([*parts, task[end:]])


def rewrite(path: Path, number: int) -> None:
    """Run one task of a page and put what was printed into it."""
    task = tasks(path.read_text("utf-8"))[number]
    printed = _rerun(task)
    page = path.read_text("utf-8").replace(task, printed)  # it may have been edited meanwhile
    page = _VERSIONS.sub("", page).rstrip("\n")
    path.write_text(f"{page}\n\n<!-- printed with {versions()} -->\n", "utf-8")


def _rewrite_with_wheel(path: Path, number: int, wheel: Path) -> None:
    """The same by the Python of a new environment that has the wheel and nothing else."""
    extras = _EXTRAS.match(tasks(path.read_text("utf-8"))[number])
    wanted = f"{wheel.resolve()}[{extras[1]}]" if extras else str(wheel.resolve())
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder, "bin", "python"))
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", wanted], check=True)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run(
            [python, __file__, str(path), "--task", str(number)], check=True, env=environment
        )


def main() -> None:
    """Put into pages what their commands print."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE")
    parser.add_argument("--task", type=int, help="only this one, from 0 on")
    parser.add_argument("--wheel", type=Path, help="run each task in a new environment with it")
    words = parser.parse_args()
    for path in words.pages:
        count = len(tasks(path.read_text("utf-8")))
        for number in range(count) if words.task is None else [words.task]:
            if words.wheel:
                _rewrite_with_wheel(path, number, words.wheel)
            else:
                rewrite(path, number)


if __name__ == "__main__":
    main()
