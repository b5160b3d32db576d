"""Print requirements of pyproject.toml, one per line, for `pip install -r`.

    python tools/requirements.py build run test

`build` is what compiling needs (with cmake and ninja, which a build front end would add by itself),
`run` what the package needs, anything else an extra. The Makefile uses it, so that a requirement is
written in one place only.
"""

import sys
import tomllib
from pathlib import Path


def requirements(group: str) -> list[str]:
    pyproject = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    if group == "build":
        settings = pyproject["tool"]["scikit-build"]
        tools = [f"{tool}{settings[tool]['version']}" for tool in ("cmake", "ninja")]
        return [*pyproject["build-system"]["requires"], *tools]
    if group == "run":
        return list(pyproject["project"]["dependencies"])
    extras = pyproject["project"]["optional-dependencies"]
    if group not in extras:
        raise SystemExit(f"requirements.py: unknown group '{group}'; known: build, run, {', '.join(extras)}")
    return list(extras[group])


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print("\n".join(requirements(name)))
