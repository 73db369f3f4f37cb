"""Tries the installed package as a user does who has no extras; `make test-wheel` runs it.

Run by the Python of a fresh environment that has the wheel and nothing else, from anywhere.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from longtail.runtime.extras import EXTRAS, missing_extras

LONGTAIL = str(Path(sys.executable).with_name("longtail"))
REFUSED = 1

# What is asked for, and the extra that its refusal has to name.
NEEDING_EXTRAS = [
    (["train", "docs.jsonl", "--to", "m", "-m", "dbpc"], "deep"),
    (["train", "docs.jsonl", "--to", "m", "-m", "cbm", "--set", "experts=boosting"], "boost"),
    (["inspect", "docs.jsonl", "--plot", "labels.png"], "report"),
    (["compare", "docs.jsonl", "-m", "dismec", "--report", "page.html"], "report"),
]


def run(*words: str, code: int = 0) -> str:
    """What a command prints, errors included."""
    print("$ longtail", *words, flush=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [LONGTAIL, *words], text=True, capture_output=True, env=environment, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert "Traceback" not in said, said
    return said


def main() -> None:
    """Help, demo, and one refusal for each extra."""
    assert missing_extras() == list(EXTRAS), (
        "this environment has extras; it is to show what goes without"
    )
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        assert "Commands" in run("--help")
        said = run("demo")
        assert "The model is in demo-model" in said
        for extra in EXTRAS:
            assert extra.command in said, said
        rows = [{"text": f"word{i % 5} and sand", "labels": [f"l{i % 5}"]} for i in range(60)]
        Path("docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        for words, extra in NEEDING_EXTRAS:
            refusal = run(*words, code=REFUSED)
            assert f'pip install "longtail[{extra}]"' in refusal, refusal
            print(refusal.splitlines()[-1])
    print("The wheel works without extras.")


if __name__ == "__main__":
    main()
