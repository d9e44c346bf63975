"""The events of a Chrome trace, read one after the other from a file of any length.

A process that is killed leaves its trace without the closing bracket, and often with half an event
at its end. What is complete is read all the same; `Events` knows afterwards where that ended.
"""

import json
import re
from collections.abc import Iterator
from typing import TextIO

BETWEEN = re.compile(r"[ \t\r\n,]*")
CHUNK = 1 << 20


class Events:
    """Iterates over the complete events, each a dict, and stops at the first that is not.

    Afterwards: `count` events were complete, the last of them ended at the character `end` of the
    text, `dropped` characters that are no space came behind it, and `is_closed` says whether the
    array was.
    """

    def __init__(self, file: TextIO):
        self.file = file
        self.count = self.end = self.dropped = 0
        self.is_closed = False

    def __iter__(self) -> Iterator[dict]:
        decode = json.JSONDecoder().raw_decode
        text, base, position = self.file.read(CHUNK), 0, 0
        start = len(text) - len(text.lstrip())
        if text[start : start + 1] != "[":
            raise ValueError("no Chrome trace: it does not start with '['")
        position = self.end = start + 1
        wanted = CHUNK
        while True:
            position = BETWEEN.match(text, position).end()
            event = None
            if position < len(text) and text[position] == "]":
                self.is_closed = True
                position += 1
                self.end = base + position
                break
            try:
                event, after = decode(text, position)
            except (ValueError, RecursionError):
                pass
            # A number cut in two still parses; an event is always an object, which cannot.
            if isinstance(event, dict):
                position = after
                self.count += 1
                self.end = base + position
                wanted = CHUNK
                yield event
                continue
            # Either the event goes on behind what was read, or it never ends. Reading twice as much
            # each time keeps a file that is broken in its middle from being decoded again and again.
            more = self.file.read(wanted)
            if not more:
                break
            wanted *= 2
            base += position
            text, position = text[position:] + more, 0
        self.dropped = len(text[self.end - base :].strip(" \t\r\n,"))
        while more := self.file.read(CHUNK):
            self.dropped += len(more.strip())
