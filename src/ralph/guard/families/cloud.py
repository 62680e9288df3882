"""Optional pack: clouds and infrastructure as code."""

from __future__ import annotations

from ralph.guard.families.call import Call
from ralph.guard.judgement import Danger
from ralph.guard.options import command_words, destructive_word, is_only_asking, words_in

_NOTHING = words_in("")
_CLOUD_TOOLS = {
    "aws": words_in(
        "put-secret-value update-secret unsubscribe create-invalidation stop-instances schedule-key-deletion leave-organization"
    ),
    "gcloud": words_in("disable"),
    "az": words_in("untag"),
    "terraform": words_in("destroy taint"),
    "tofu": words_in("destroy taint"),
    "terragrunt": words_in("destroy run-all"),
    "pulumi": words_in("destroy"),
    "gsutil": words_in("rm rb"),
    "mc": words_in("rm rb"),
    "fastly": words_in("activate"),
    "apigeecli": _NOTHING,
    "deck": words_in("reset sync"),
    **dict.fromkeys(
        words_in(
            "doctl hcloud linode-cli heroku fly flyctl vercel netlify wrangler eksctl cdk serverless sls oci ibmcloud scw exo azcopy bq"
            " cloudflared firebase supabase railway render ansible-galaxy nomad consul s3cmd s5cmd"
        ),
        _NOTHING,
    ),
}
_SYNCS = ("--delete", "--delete-destination", "--remove", "-d", "--delete-destination=true")


def check_cloud(call: Call) -> Danger | None:
    if call.program not in _CLOUD_TOOLS or is_only_asking(call.arguments):
        return None
    words = command_words(call.arguments)
    verb = destructive_word(words, _CLOUD_TOOLS[call.program])
    if verb:
        return Danger(
            "cloud",
            f"{call.program} {' '.join(words[:3])} destroys or changes running resources",
            "ask the user to do it",
        )
    syncs = {"sync", "rsync", "mirror"} & set(words + call.arguments[:3])
    if syncs and any(word in _SYNCS for word in call.arguments):
        return Danger("cloud", "this deletes whatever the source does not have", "sync without deleting")
    if call.program in ("terraform", "tofu") and any(
        word in ("-destroy", "--destroy") for word in call.arguments
    ):
        return Danger("cloud", "this destroys infrastructure", "show the user terraform plan -destroy")
    return None
