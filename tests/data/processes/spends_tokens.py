"""An agent like claude that uses a thousand tokens and then works on in silence; on SIGINT it says how it ended."""

import os
import signal


def interrupted(number: int, frame: object) -> None:
    # Not print(): the signal may come in the middle of one.
    os.write(
        1, b'{"type":"result","subtype":"error_during_execution","is_error":true,"total_cost_usd":0.25}\n'
    )
    os._exit(0)


signal.signal(signal.SIGINT, interrupted)
print('{"type":"system","subtype":"init","session_id":"1","model":"claude-opus-5-5"}')
print(
    '{"type":"assistant","message":{"id":"m1","model":"claude-opus-5-5","usage":{"input_tokens":1000},'
    '"content":[{"type":"text","text":"on it"}]}}',
    flush=True,
)
while True:
    signal.pause()
