#!/usr/bin/env python3
"""Takes the pictures in docs/screenshots/ of the real window on real files, on a display of its own.

usage: scripts/screenshots.py FOLDER "QUESTION"

FOLDER is dropped into the window for the picture of indexing and indexed whole for the others; one with
some hundred pages gives time to catch it at work. Needs release builds of both programs
(cargo build --release) and what scripts/test installs.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
OUT = ROOT / "docs" / "screenshots"


class Display:
    """An X server with a window manager, gone with the `with` block."""

    def __enter__(self):
        reader, writer = os.pipe()
        command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1600x1000x24"]
        self.server = subprocess.Popen(command, pass_fds=[writer], stderr=subprocess.DEVNULL)
        number = os.read(reader, 16).decode().strip()
        self.environment = {
            **os.environ,
            "DISPLAY": f":{number}",
            "WEBKIT_DISABLE_COMPOSITING_MODE": "1",
        }
        self.manager = self.start("openbox")
        return self

    def __exit__(self, *_):
        self.manager.kill()
        self.server.kill()

    def start(self, *command, **environment):
        everything = {**self.environment, **environment}
        return subprocess.Popen(
            command, env=everything, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def run(self, *command):
        done = subprocess.run(
            command, env=self.environment, check=True, capture_output=True, text=True, timeout=60
        )
        return done.stdout.strip()

    def xdotool(self, *words):
        return self.run("xdotool", *map(str, words))


class Window:
    """The application on a data directory, with a theme and a size."""

    def __init__(self, display, data, size, theme="light"):
        self.display, self.size = display, size
        data.mkdir(parents=True, exist_ok=True)
        (data / "settings.json").write_text(json.dumps({"theme": theme}))
        program = str(PROGRAMS / "lodestone")
        self.process = display.start(program, LODESTONE_DATA_DIR=str(data))
        self.window = self.find()
        display.xdotool("windowsize", self.window, *size)
        display.xdotool("windowmove", self.window, 240, 40)
        display.xdotool("windowfocus", self.window)
        time.sleep(3)

    def find(self):
        search = ("search", "--sync", "--onlyvisible", "--pid", self.process.pid, "--name", ".")
        for _ in range(10):
            try:
                return self.display.xdotool(*search).splitlines()[-1]
            except subprocess.CalledProcessError:
                # A window that goes while xdotool looks at it, as one under construction may.
                time.sleep(1)
        sys.exit("the application opened no window")

    def ask(self, question):
        self.display.xdotool("type", "--delay", 25, question)
        time.sleep(2)

    def press(self, *keys):
        self.display.xdotool("key", *keys)
        time.sleep(1)

    def picture(self, name):
        self.display.run("import", "-window", self.window, str(OUT / f"{name}.png"))
        print(OUT / f"{name}.png")

    def close(self):
        self.process.terminate()
        self.process.wait()


def drop(display, window, folder):
    """Drags the folder into the window, with a picture of what the window says about it."""
    source = display.start(
        "/usr/bin/python3", str(ROOT / "tests" / "support" / "drag-source.py"), str(folder)
    )
    _, x, y = source.stdout.readline().split()
    display.xdotool("mousemove", x, y, "mousedown", 1)
    below = (240 + window.size[0] // 2, 40 + window.size[1] * 3 // 4)
    for step in range(40):
        place = (int(x) + 4 * step, int(y)) if step < 10 else (below[0] + step, below[1])
        display.xdotool("mousemove", *place)
        time.sleep(0.1)
    window.picture("drop-light")
    display.xdotool("mouseup", 1)
    while not source.stdout.readline().startswith("end"):
        pass
    source.kill()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, question = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    OUT.mkdir(parents=True, exist_ok=True)
    wide, small = (1280, 800), (900, 700)
    with tempfile.TemporaryDirectory() as work, Display() as display:
        work = pathlib.Path(work)
        window = Window(display, work / "empty", wide)
        window.picture("empty-light")
        drop(display, window, folder)
        time.sleep(8)
        window.picture("indexing-light")
        window.close()

        full = os.environ.get("LODESTONE_DATA_DIR")
        if full is None:
            full = work / "full"
            index = [str(PROGRAMS / "lode"), "index", str(folder), "--data-dir", str(full)]
            subprocess.run(index, check=False)
        for name, size, theme in [
            ("results-light", wide, "light"),
            ("results-dark", wide, "dark"),
            ("results-small", small, "light"),
        ]:
            window = Window(display, pathlib.Path(full), size, theme)
            window.ask(question)
            window.picture(name)
            window.close()
        for name, theme in [("library-light", "light"), ("library-dark", "dark")]:
            window = Window(display, pathlib.Path(full), wide, theme)
            window.press("ctrl+2")
            window.picture(name)
            window.close()


if __name__ == "__main__":
    main()
