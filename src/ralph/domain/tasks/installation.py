"""Which files of a project its dependencies are installed from: if one differs, so may what must be installed."""

from __future__ import annotations

NAMES = (
    "package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml",
    "bun.lock", "bun.lockb", "deno.json", "deno.lock",
    "pyproject.toml", "setup.py", "setup.cfg", "uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile",
    "Pipfile.lock", "requirements*.txt", "environment.yml", "pixi.toml", "pixi.lock",
    "Cargo.toml", "Cargo.lock", "go.mod", "go.sum", "Gemfile", "Gemfile.lock", "composer.json", "composer.lock",
    "mix.exs", "mix.lock", "Podfile", "Podfile.lock", "packages.lock.json", "gradle.lockfile",
)  # fmt: skip
INSTALLED_FROM = tuple(f":(glob)**/{name}" for name in NAMES)
"""As git's pathspecs, in any folder."""
MOST_NAMED = 5


def not_ignored(names: list[str]) -> str:
    """What to say of files that a setup made and that git would take for work."""
    tops = sorted({f"{top}/" if below else top for top, below, _ in (name.partition("/") for name in names)})
    more = f" and {len(tops) - MOST_NAMED} more" if len(tops) > MOST_NAMED else ""
    listed = f"{', '.join(tops[:MOST_NAMED])}{more}"
    return (
        f"it leaves {listed}, which git does not ignore and would commit as work: list it in .gitignore, and commit that"
        " (a worktree has only what is committed)"
    )
