"""``ralph completion``: the script that teaches a shell to complete our commands."""

from __future__ import annotations

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash: ralph completion bash > ~/.local/share/bash-completion/completions/ralph
    zsh:  ralph completion zsh > "${fpath[1]}/_ralph"
    fish: ralph completion fish > ~/.config/fish/completions/ralph.fish
    """
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    assert completion is not None, "click knows these three"
    root = ctx.find_root().command
    click.echo(completion(root, {}, "ralph", "_RALPH_COMPLETE").source())
