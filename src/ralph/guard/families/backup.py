"""Optional pack: backups."""

from __future__ import annotations

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.options import command_words, destructive_word, is_only_asking, words_in

_BACKUP_TOOLS = {
    "restic": words_in("forget prune unlock rebuild-index"),
    "borg": words_in("delete prune compact recreate break-lock"),
    "rclone": words_in("sync delete deletefile purge rmdir rmdirs move moveto cleanup dedupe"),
    "velero": words_in("delete"),
    "duplicity": words_in("remove-older-than remove-all-but-n-full cleanup"),
    "kopia": words_in("delete expire"),
    "tarsnap": words_in("nuke"),
}


def check_backup(call: Call) -> Danger | None:
    verbs = _BACKUP_TOOLS.get(call.program)
    if verbs is None or is_only_asking(call.arguments) or "-n" in call.arguments:
        return None
    words = command_words(call.arguments)
    if destructive_word(words, verbs):
        return Danger(
            "backup",
            f"{call.program} {' '.join(words[:2])} deletes backups or remote files",
            "ask the user to do it",
        )
    return None
