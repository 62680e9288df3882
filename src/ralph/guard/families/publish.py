"""Optional pack: publishing packages, and removing installed software."""

from __future__ import annotations

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.options import is_only_asking, split_options, words_in

_PUBLISHERS = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), words_in("publish unpublish deprecate")),
    "cargo": words_in("publish yank"),
    "gem": words_in("push yank"),
    "twine": words_in("upload"),
    **dict.fromkeys(("poetry", "uv", "hatch", "flit", "pdm"), words_in("publish")),
    **dict.fromkeys(("mvn", "mvnw"), words_in("deploy release:perform release:prepare")),
    **dict.fromkeys(("gradle", "gradlew"), words_in("publish uploadArchives publishToMavenCentral")),
    "dotnet": words_in("push"),
    "docker": words_in("push"),
    "helm": words_in("push"),
    "pod": words_in("trunk"),
    "mix": words_in("hex.publish"),
    "goreleaser": words_in("release"),
}
_REMOVERS = {
    **dict.fromkeys(("pip", "pip3", "pipx"), words_in("uninstall")),
    **dict.fromkeys(("apt", "apt-get", "aptitude"), words_in("remove purge autoremove")),
    **dict.fromkeys(("yum", "dnf", "zypper"), words_in("remove erase autoremove")),
    "pacman": words_in("-R -Rs -Rns -Rdd"),
    "dpkg": words_in("-r -P --remove --purge"),
    "brew": words_in("uninstall remove rm autoremove"),
    "snap": words_in("remove"),
}
_PUBLISH_TASK = LazyPattern(r"(?::?[\w-]+:)?publish\w*")


def check_publish(call: Call) -> Danger | None:
    if is_only_asking(call.arguments):
        return None
    _, operands = split_options(call.arguments)
    verbs = _PUBLISHERS.get(call.program)
    if verbs and (
        verbs & set(operands[:3])
        or (call.program.startswith("gradle") and any(_PUBLISH_TASK.fullmatch(word) for word in operands))
    ):
        return Danger(
            "publish",
            f"{call.program} {operands[0]} publishes, which cannot be undone",
            "ask the user to release it",
        )
    removes = _REMOVERS.get(call.program)
    if removes and removes & set(call.arguments[:3]):
        return Danger(
            "publish",
            f"{call.program} removes installed software",
            "use an environment that belongs to the project",
        )
    return None
