"""sbx, containers and srt by their exact command lines, against stand-ins that refuse what the real ones refuse."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from ralph.adapters.agents.registry import facts_of
from ralph.adapters.isolation.container import ContainerSandbox
from ralph.adapters.isolation.runner import IsolatedRunner, keep_open
from ralph.adapters.isolation.sandbox import Sandbox
from ralph.adapters.isolation.sbx import SbxSandbox
from ralph.adapters.isolation.srt import SrtSandbox
from ralph.domain.loop.session_report import Ending
from ralph.domain.sandbox.allow_list import parse_rule
from ralph.domain.sandbox.kind import Network
from ralph.domain.sandbox.policy import Limits, SandboxPolicy
from ralph.engine.ports import Command, Exit
from ralph.errors import AgentUnavailable, ConfigError

from .stand_ins import StandIns


def run_in(sandbox: Sandbox, stand_ins: StandIns, command: Command) -> tuple[Exit, str]:
    async def run() -> tuple[Exit, str]:
        output = bytearray()
        inner = stand_ins.runner()
        async with keep_open(sandbox, inner):
            exit_ = await IsolatedRunner(inner, sandbox).run(command, on_output=output.extend)
        return exit_, output.decode()

    return asyncio.run(run())


def name_of(stand_ins: StandIns) -> str:
    return "ralph-" + "".join(
        c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in str(stand_ins.workspace)
    )


def without_flags(argv: list[str], *flags: str) -> list[str]:
    return [argument for argument in argv if not argument.startswith(flags)]


# --- sbx ---------------------------------------------------------------------------------------------------


def test_sbx_makes_a_machine_once_and_enters_it(stand_ins: StandIns) -> None:
    stand_ins.install("sbx")
    stand_ins.answer((["ls", "--json"], 0, '{"sandboxes": []}', ""))
    stand_ins.environ["ANTHROPIC_API_KEY"] = "sk-of-the-user"
    policy = SandboxPolicy(allow=(parse_rule("*.example.com"),), limits=Limits(memory=2**31))
    prompt = stand_ins.folder / "prompt"
    prompt.write_text("do it")
    command = Command(("claude", "-p"), stand_ins.workspace, {"EXTRA": "1"}, stdin=prompt)
    exit_, _ = run_in(SbxSandbox(stand_ins.site(), policy), stand_ins, command)
    name, workspace = name_of(stand_ins).replace("_", "-"), str(stand_ins.workspace)
    listed, created, allowed, secret, entered, stopped = stand_ins.argvs()
    assert exit_.code == 0
    assert listed == ["sbx", "ls", "--json"]
    assert created == [
        *("sbx", "create", "--name", name, "--quiet", "--memory", "2048m", "claude", workspace),
        f"{workspace}/.ralph:ro",
    ]
    assert allowed[:6] == ["sbx", "policy", "allow", "network", "--sandbox", name]
    assert allowed[6].split(",")[0] == "api.anthropic.com"
    assert allowed[6].endswith(",*.example.com")
    assert secret == ["sbx", "secret", "set", name, "anthropic"]
    assert entered[:5] == ["sbx", "exec", "--interactive", "--workdir", workspace]
    place = entered.index(name)
    assert entered[place + 1 : place + 3] == ["/bin/sh", "-c"]
    assert entered[-2:] == ["claude", "-p"]
    unpacked, variables = entered[-3].split(), entered[5:place][1::2]
    assert {*variables} == {f"RALPH_INSIDE_{name}" for name in unpacked} | {"RALPH_RUN_ID", "RALPH_SPAWN_ID"}
    assert "EXTRA" in unpacked
    assert not {"PATH", "HOME", "ANTHROPIC_API_KEY"} & set(unpacked)
    assert stopped == ["sbx", "stop", name]


@pytest.mark.parametrize("kind", [SbxSandbox, ContainerSandbox])
@pytest.mark.parametrize("converses", [True, False])
def test_input_reaches_whoever_converses_inside(
    stand_ins: StandIns, kind: type[SbxSandbox | ContainerSandbox], converses: bool
) -> None:
    command = Command(("goose", "acp"), stand_ins.workspace, converses=converses)

    wrapped = kind(stand_ins.site(), IMAGE).wrap(command)

    assert ("--interactive" in wrapped.argv) is converses
    assert wrapped.converses is converses


def test_sbx_takes_the_users_git_identity_inside(stand_ins: StandIns) -> None:
    stand_ins.install("sbx")
    git = shutil.which("git")
    assert git is not None
    (stand_ins.folder / "bin" / "git").symlink_to(git)
    for name in [name for name in stand_ins.environ if name.startswith("GIT_")]:
        del stand_ins.environ[name]
    stand_ins.environ.update(
        GIT_CONFIG_GLOBAL="/dev/null",
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0="user.name",
        GIT_CONFIG_VALUE_0="Who Commits",
    )

    sandbox = SbxSandbox(stand_ins.site(), SandboxPolicy())
    run_in(sandbox, stand_ins, Command(("claude", "-p"), stand_ins.workspace))

    (entered,) = (call for call in stand_ins.calls() if call["argv"][1] == "exec")  # type: ignore[index]
    assert "RALPH_INSIDE_GIT_AUTHOR_NAME" in entered["argv"]  # type: ignore[operator]
    assert entered["env"]["RALPH_INSIDE_GIT_COMMITTER_NAME"] == "Who Commits"  # type: ignore[index]
    assert "RALPH_INSIDE_GIT_AUTHOR_EMAIL" not in entered["argv"]  # type: ignore[operator]


def test_sbx_gets_keys_by_a_pipe_and_never_on_a_command_line(stand_ins: StandIns) -> None:
    stand_ins.install("sbx")
    stand_ins.environ["ANTHROPIC_API_KEY"] = "sk-of-the-user"
    run_in(
        SbxSandbox(stand_ins.site(), SandboxPolicy()), stand_ins, Command(("claude",), stand_ins.workspace)
    )
    calls = stand_ins.calls()
    assert [call["stdin"] for call in calls if "secret" in call["argv"]] == ["sk-of-the-user\n"]  # type: ignore[operator]
    assert "sk-of-the-user" not in json.dumps([call["argv"] for call in calls])


def test_sbx_comes_back_to_a_machine_that_is_there(stand_ins: StandIns) -> None:
    stand_ins.install("sbx")
    name = name_of(stand_ins).replace("_", "-")
    listed = "starting the daemon…\n" + json.dumps({"sandboxes": [{"name": name, "status": "stopped"}]})
    stand_ins.answer((["ls", "--json"], 0, listed, ""))
    run_in(
        SbxSandbox(stand_ins.site(), SandboxPolicy()), stand_ins, Command(("claude",), stand_ins.workspace)
    )
    verbs = [argv[1] for argv in stand_ins.argvs()]
    assert verbs == ["ls", "stop", "policy", "exec", "stop"]


def test_sbx_without_network_denies_everything(stand_ins: StandIns) -> None:
    stand_ins.install("sbx")
    policy = SandboxPolicy(network=Network.OFF)
    run_in(SbxSandbox(stand_ins.site(), policy), stand_ins, Command(("claude",), stand_ins.workspace))
    name = name_of(stand_ins).replace("_", "-")
    assert ["sbx", "policy", "deny", "network", "--sandbox", name, "**"] in stand_ins.argvs()


def test_sbx_that_cannot_make_a_machine_says_why(stand_ins: StandIns) -> None:
    stand_ins.install("sbx")
    stand_ins.answer((["create"], 1, "", "no virtualisation\n"))
    with pytest.raises(AgentUnavailable, match="`sbx create --name` failed: no virtualisation"):
        run_in(SbxSandbox(stand_ins.site(), SandboxPolicy()), stand_ins, Command(("x",), stand_ins.workspace))


def test_a_program_that_sbx_has_no_template_for_runs_in_a_plain_machine(stand_ins: StandIns) -> None:
    stand_ins.install("sbx")
    site = stand_ins.site("/opt/own/agent")
    run_in(
        SbxSandbox(site, SandboxPolicy()), stand_ins, Command(("/opt/own/agent", "x"), stand_ins.workspace)
    )
    created = next(argv for argv in stand_ins.argvs() if argv[1] == "create")
    entered = next(argv for argv in stand_ins.argvs() if argv[1] == "exec")
    assert "shell" in created
    assert entered[-2:] == ["agent", "x"]


def test_sbx_is_stopped_when_a_session_is_cut_off_and_removed_when_asked(stand_ins: StandIns) -> None:
    stand_ins.install("sbx")
    sandbox = SbxSandbox(stand_ins.site(), SandboxPolicy())

    async def run() -> None:
        await sandbox.settle(stand_ins.runner(), Exit(Ending.EXITED, 1, 0.0))
        assert stand_ins.argvs() == []
        await sandbox.settle(stand_ins.runner(), Exit(Ending.TIMED_OUT, None, 0.0))
        await sandbox.remove(stand_ins.runner())

    asyncio.run(run())
    name = name_of(stand_ins).replace("_", "-")
    assert stand_ins.argvs() == [["sbx", "stop", name], ["sbx", "rm", "--force", name]]


# --- containers --------------------------------------------------------------------------------------------

IMAGE = SandboxPolicy(image="agents:1")


def test_a_container_is_made_kept_and_entered(stand_ins: StandIns, own_home: Path) -> None:
    stand_ins.install("docker")
    stand_ins.answer((["container", "inspect"], 1, "", "no such container\n"), (["info"], 0, "{}", ""))
    (own_home / ".claude").mkdir()
    (own_home / ".claude" / "settings.json").write_text("{}")
    policy = SandboxPolicy(network=Network.OFF, image="agents:1", limits=Limits(memory=2**30, pids=99))
    command = Command(("claude", "-p", "--flag"), stand_ins.workspace)
    exit_, _ = run_in(ContainerSandbox(stand_ins.site(), policy), stand_ins, command)
    assert exit_.code == 0, stand_ins.calls()
    name, workspace = name_of(stand_ins), str(stand_ins.workspace)
    _, _, made, entered, cleaned, stopped = stand_ins.argvs()
    assert without_flags(made, "--label=") == [
        *(
            "docker",
            "run",
            "--detach",
            f"--name={name}",
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges",
        ),
        *(f"--tmpfs={own_home}:rw,mode=1777", f"--env=HOME={own_home}", f"--workdir={workspace}"),
        *(f"--user={os.geteuid()}:{os.getegid()}", "--network=none"),
        *(f"--memory={2**30}", f"--memory-swap={2**30}", "--pids-limit=99"),
        *sorted(
            [
                f"--mount=type=tmpfs,target={own_home}/.claude,tmpfs-mode=1777",
                *(
                    f"--mount=type=bind,source={workspace}/.ralph/sessions/{name.replace('/', '+')},target={own_home}/{name}"
                    for name in facts_of("claude").needs.sessions
                ),
                f"--mount=type=bind,source={own_home}/.claude/settings.json,target={own_home}/.claude/settings.json,readonly",
                f"--mount=type=bind,source={workspace},target={workspace}",
                f"--mount=type=bind,source={workspace}/.ralph,target={workspace}/.ralph,readonly",
            ],
            key=lambda argument: argument.split("target=")[1].split(",")[0].split("/"),
        ),
        *("agents:1", "/bin/sh", "-c", "while :; do sleep 86400 & wait; done"),
    ]
    assert entered[:3] == ["docker", "exec", f"--workdir={workspace}"]
    inside = without_flags(entered[3:], "--env=")
    assert (inside[:3], inside[-3:]) == ([name, "/bin/sh", "-c"], ["claude", "-p", "--flag"])
    assert cleaned == ["docker", "exec", name, "/bin/sh", "-c", "kill -9 -1"]
    assert stopped == ["docker", "stop", "--time=2", name]


def test_podman_is_preferred_and_keeps_the_users_id(stand_ins: StandIns) -> None:
    stand_ins.install("docker", "podman")
    arguments = ContainerSandbox(stand_ins.site(), IMAGE)._run_arguments()
    assert ("--userns=keep-id" if os.geteuid() else "--user=0:0") in arguments


def test_a_path_with_a_comma_stays_one_path(stand_ins: StandIns) -> None:
    folder = stand_ins.folder / "a,b"
    (folder / ".ralph").mkdir(parents=True)
    stand_ins.workspace = folder
    arguments = ContainerSandbox(stand_ins.site(), IMAGE)._run_arguments()
    assert f'--mount=type=bind,"source={folder}","target={folder}"' in arguments


def test_a_container_that_is_there_is_used_again_and_one_with_other_settings_is_not(
    stand_ins: StandIns,
) -> None:
    stand_ins.install("docker")
    command = Command(("claude",), stand_ins.workspace)
    stand_ins.answer((["container", "inspect"], 0, "true other\n", ""))
    run_in(ContainerSandbox(stand_ins.site(), IMAGE), stand_ins, command)
    verbs = [argv[1] for argv in stand_ins.argvs()]
    assert verbs == ["info", "container", "rm", "run", "exec", "exec", "stop"]
    label = next(argument for argument in stand_ins.argvs()[3] if argument.startswith("--label="))
    fingerprint = label.rpartition("=")[2]
    for state, expected in (("false", "start"), ("true", "exec")):
        (stand_ins.folder / "calls.jsonl").unlink()
        stand_ins.answer((["container", "inspect"], 0, f"{state} {fingerprint}\n", ""))
        run_in(ContainerSandbox(stand_ins.site(), IMAGE), stand_ins, command)
        assert [argv[1] for argv in stand_ins.argvs()][2] == expected


def test_a_container_that_vanished_is_no_failure_of_the_agent(stand_ins: StandIns) -> None:
    stand_ins.install("docker")
    gone = "Error response from daemon: No such container: x\n"
    stand_ins.answer((["exec"], 1, "", gone), (["container", "inspect"], 1, "", ""))
    exit_, _ = run_in(
        ContainerSandbox(stand_ins.site(), IMAGE), stand_ins, Command(("claude",), stand_ins.workspace)
    )
    assert exit_.ending is Ending.NOT_STARTED
    assert exit_.error == "the container no longer exists: Error response from daemon: No such container: x"


# --- srt ---------------------------------------------------------------------------------------------------


def test_srt_gets_its_settings_in_a_file_and_the_command_as_one_string(
    stand_ins: StandIns, own_home: Path
) -> None:
    stand_ins.install("srt")
    stand_ins.environ["SOME_TOKEN"] = "s3cret-value"
    policy = SandboxPolicy(env=("RECORDER_*",))
    sandbox = SrtSandbox(stand_ins.site(), policy)
    exit_, output = run_in(
        sandbox, stand_ins, Command(("echo", "a b", "$HOME", "--settings", "-c"), stand_ins.workspace)
    )
    assert (exit_.code, output) == (0, "a b $HOME --settings -c\n")
    (call,) = stand_ins.calls()
    argv = list(call["argv"])  # type: ignore[call-overload]
    assert argv[:2] == ["srt", "--settings"]
    assert argv[3] == "-c"
    assert argv[4].endswith(" echo 'a b' '$HOME' --settings -c")
    assert "SOME_TOKEN" not in call["env"]  # type: ignore[operator]
    assert not Path(argv[2]).exists(), "it is taken away with the run"


def test_what_srt_is_told(stand_ins: StandIns, own_home: Path) -> None:
    (stand_ins.workspace / ".ralph" / "settings.local.json").write_text("{}")
    (own_home / ".claude").mkdir()
    policy = SandboxPolicy(allow=(parse_rule("example.com:8443"),))
    told = SrtSandbox(stand_ins.site(), policy)._settings()
    workspace = str(stand_ins.workspace)
    assert "example.com" in told["network"]["allowedDomains"]  # type: ignore[index]
    files = told["filesystem"]
    assert isinstance(files, dict)
    sessions = [f"{own_home}/{name}" for name in facts_of("claude").needs.sessions]
    assert files["allowWrite"] == [*sessions, workspace, f"{own_home}/.claude.json", "/tmp"]
    assert f"{workspace}/.ralph" in files["denyWrite"]
    assert f"{own_home}/.ssh" in files["denyRead"]
    assert f"{workspace}/.ralph/settings.local.json" in files["denyRead"]


def test_srt_cannot_allow_every_host(stand_ins: StandIns) -> None:
    with pytest.raises(ConfigError, match="srt cannot allow every host"):
        SrtSandbox(stand_ins.site(), SandboxPolicy(allow=(parse_rule("*"),)))


def test_srt_without_network_allows_no_host(stand_ins: StandIns) -> None:
    sandbox = SrtSandbox(stand_ins.site(), SandboxPolicy(network=Network.OFF))
    assert sandbox.guarantees.network == "off"
    assert sandbox._settings()["network"] == {"allowedDomains": [], "deniedDomains": []}
