"""An X display of its own with a window manager, and the application's window on it."""

import json
import os
import random
import subprocess
import sys
import time


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
            "GDK_BACKEND": "x11",
            "WEBKIT_DISABLE_COMPOSITING_MODE": "1",
        }
        self.manager = self.start("openbox")
        return self

    def __exit__(self, *_):
        self.manager.kill()
        self.server.kill()
        self.server.wait()

    def start(self, *command, log=subprocess.DEVNULL, **environment):
        everything = {**self.environment, **environment}
        return subprocess.Popen(
            command, env=everything, stdout=subprocess.PIPE, stderr=log, text=True
        )

    def run(self, *command):
        done = subprocess.run(
            command, env=self.environment, check=True, capture_output=True, text=True, timeout=60
        )
        return done.stdout.strip()

    def xdotool(self, *words):
        return self.run("xdotool", *map(str, words))

    def type_like_a_person(self, texts, pauses_s):
        """Types and deletes each text with pauses of this range between keys; gives back how many keys."""
        dice = random.Random(7)
        lines = []
        for text in texts:
            for key in text:
                lines += [f"key {'space' if key == ' ' else key}", f"sleep {dice.uniform(*pauses_s):.3f}"]
            lines += ["sleep 0.5", "key ctrl+a BackSpace", "sleep 0.2"]
        # One process, because to start one for each key is work on the machine that is measured.
        subprocess.run(
            ["xdotool", "-"], env=self.environment, check=True, text=True, input="\n".join(lines) + "\n"
        )
        return sum(map(len, texts))


class Window:
    """The application on a data directory, at a size."""

    PLACE = (240, 40)

    def __init__(self, display, program, data, size, arguments=(), settings=None, **environment):
        self.display, self.size = display, size
        data.mkdir(parents=True, exist_ok=True)
        if settings is not None:
            kept = data / "settings.json"
            before = json.loads(kept.read_text()) if kept.exists() else {}
            kept.write_text(json.dumps({**before, **settings, "window": None}))
        self.process = display.start(
            str(program), *map(str, arguments), LODESTONE_DATA_DIR=str(data), **environment
        )
        self.window = self.find()
        display.xdotool("windowsize", self.window, *size)
        display.xdotool("windowmove", self.window, *self.PLACE)
        display.xdotool("windowfocus", self.window)

    def find(self):
        search = ("search", "--sync", "--onlyvisible", "--pid", self.process.pid, "--name", ".")
        for _ in range(20):
            try:
                return self.display.xdotool(*search).splitlines()[-1]
            except subprocess.CalledProcessError:
                # A window that goes while xdotool looks at it, as one under construction may.
                time.sleep(0.5)
        sys.exit("the application opened no window")

    def ask(self, question, delay_ms=25):
        self.display.xdotool("type", "--delay", delay_ms, question)

    def press(self, *keys):
        self.display.xdotool("key", *keys)

    def picture(self, path):
        self.display.run("import", "-window", self.window, str(path))

    def close(self, timeout=20):
        """As Ctrl-C in its terminal does, so that what it writes is complete."""
        self.process.send_signal(2)
        self.process.wait(timeout)
