"""Programs by what they do with text."""

from __future__ import annotations

from ralph.guard.options import words_in

SHELLS = words_in("sh bash zsh dash ksh ash fish mksh rbash tcsh csh pwsh powershell")

TEXT_TOOLS = words_in(
    "echo printf cat tee tac less more head tail grep egrep fgrep zgrep rg ag ack ugrep sed awk gawk mawk "
    "wc sort uniq cut tr rev nl fold fmt column paste join comm diff cmp patch md5sum sha1sum sha256sum "
    "shasum cksum base64 xxd od hexdump strings jq yq xq xmllint tidy curl wget http git gh glab hub man "
    "info help apropos whatis which whereis type hash tldr say read mapfile readarray test [ [[ ls stat "
    "file dirname basename realpath readlink tree du df touch mkdir logger wall write mail sendmail "
    "notify-send osascript kubectl oc helm docker podman nerdctl ssh mysql psql sqlite3 mongosh redis-cli "
    "duckdb cp mv ln rm rmdir chmod chown python python3 node ruby perl php lua pandoc pbcopy xclip xsel "
    "wl-copy clip code vim vi nano emacs ed ex export declare local typeset readonly alias unalias set "
    "unset shift return exit true false : let expr seq date rtk tar zip unzip gzip bat batcat delta fzf "
    "gum glow bc dc claude codex gemini opencode amp ralph cargo go npm yarn pnpm aws az gcloud gsutil "
    "terraform ansible openssl gpg apt apt-get brew pip pip3 uv make cmake"
)
"""Programs that show or store what they are given and never run it."""

FETCHERS = words_in(
    "curl wget fetch aria2c http https xh xhs httpie lwp-request lynx links w3m nc ncat netcat ssh"
)
"""Programs whose output comes from another machine."""

SETUP_TOOLS = words_in(
    "ssh-agent direnv brew pyenv rbenv nodenv goenv jenv zoxide fnm starship mise rtx asdf opam conda "
    "mamba micromamba dircolors thefuck atuin keychain gpg-agent docker-machine minikube "
    "register-python-argcomplete luarocks vault-env oh-my-posh nodebrew swiftenv perlbrew plenv xdg-user-dirs lesspipe "
    "tset fasd navi devbox pkgx volta sdk"
)
"""Programs made to print shell code that is then run: ``eval "$(pyenv init -)"``."""

SETUP_WORDS = frozenset(["completion", "completions", "shellenv", "completion-script"])
"""A tool asked for its shell code: ``source <(kubectl completion bash)``."""

DANGEROUS_PROGRAMS = words_in(
    "rm git find dd shred sudo doas bash sh zsh eval mkfs mkfs.ext4 chmod chown xargs shutdown reboot"
)
"""Programs to look for among the words of an unknown program."""
