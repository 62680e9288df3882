from __future__ import annotations

from ralph.adapters.shell import shell_argv


def test_a_command_line_goes_to_the_platforms_shell() -> None:
    assert shell_argv("make | tee log", "linux") == ("sh", "-c", "make | tee log")
    assert shell_argv("dir", "darwin") == ("sh", "-c", "dir")
    assert shell_argv("dir && echo", "win32") == ("cmd", "/c", "dir && echo")
