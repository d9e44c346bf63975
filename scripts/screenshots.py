#!/usr/bin/env python3
"""Takes the pictures in docs/screenshots/: every view of the real window, light and dark, wide and small, empty and
full, on files of yours and on a display of its own.

usage: scripts/screenshots.py FOLDER "QUESTION" [--programs DIR] [--only NAME...]

FOLDER is indexed, unless LODESTONE_DATA_DIR names an index that has it; with a site in that, the view of the web is full. Needs
both programs (cargo build --release, or those of --programs) and what scripts/test installs.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "lib"))

from display import Display, Window  # noqa: E402

RELEASE = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
OUT = ROOT / "docs" / "screenshots"
WIDE, SMALL = (1280, 800), (900, 700)

# What is on a picture, and the keys that lead to it.
VIEWS = {
    "results": ["ask"],
    "library": ["ctrl+2"],
    "web": ["ctrl+3"],
    "activity": ["ctrl+4"],
    "settings": ["ctrl+5"],
    "palette": ["ctrl+k"],
}
SETTLES_S = 1.5


def shots():
    """Names of all pictures with view, theme, size and whether something is indexed."""
    for view in ["results", "library", "web", "activity", "settings"]:
        for theme in ["light", "dark"]:
            yield f"{view}-{theme}", view, theme, WIDE, True
        yield f"{view}-small", view, "light", SMALL, True
        empty = "search" if view == "results" else view
        yield f"{empty}-empty", view, "light", WIDE, False
    yield "palette-light", "palette", "light", WIDE, True


def take(display, programs, data, question, shot):
    name, view, theme, size, is_full = shot
    settings = {"theme": theme, "hints_seen": True, "last_query": "", "summon_keys": ""}
    window = Window(display, programs / "lodestone", data, size, settings=settings)
    time.sleep(4)
    for key in VIEWS[view]:
        if key == "ask":
            if is_full:
                window.ask(question)
        else:
            window.press(key)
        time.sleep(SETTLES_S)
    window.picture(OUT / f"{name}.png")
    print(OUT / f"{name}.png")
    window.close()


def drop(display, programs, data, folder):
    """Drags the folder into the window, with a picture of what the window says about it."""
    settings = {"theme": "light", "hints_seen": True, "summon_keys": ""}
    window = Window(display, programs / "lodestone", data, WIDE, settings=settings)
    time.sleep(4)
    source = display.start(
        "/usr/bin/python3", str(ROOT / "tests" / "support" / "drag-source.py"), str(folder)
    )
    _, x, y = source.stdout.readline().split()
    display.xdotool("mousemove", x, y, "mousedown", 1)
    below = (Window.PLACE[0] + WIDE[0] // 2, Window.PLACE[1] + WIDE[1] * 3 // 4)
    for step in range(40):
        place = (int(x) + 4 * step, int(y)) if step < 10 else (below[0] + step, below[1])
        display.xdotool("mousemove", *place)
        time.sleep(0.1)
    window.picture(OUT / "drop-light.png")
    display.xdotool("mouseup", 1)
    while not source.stdout.readline().startswith("end"):
        pass
    source.kill()
    time.sleep(3)
    window.picture(OUT / "indexing-light.png")
    window.press("Escape")
    window.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("question")
    parser.add_argument("--programs", type=pathlib.Path, default=RELEASE)
    parser.add_argument("--only", nargs="*", help="these pictures alone")
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    OUT.mkdir(parents=True, exist_ok=True)
    os.environ["LODESTONE_TRACE"] = "off"
    with tempfile.TemporaryDirectory() as work, Display() as display:
        work = pathlib.Path(work)
        full = os.environ.get("LODESTONE_DATA_DIR")
        if full is None:
            full = work / "full"
            index = [str(asked.programs / "lode"), "--data-dir", str(full), "index", str(folder)]
            subprocess.run(index, check=False)
        for shot in shots():
            if asked.only and shot[0] not in asked.only:
                continue
            data = pathlib.Path(full) if shot[4] else work / f"empty-{shot[0]}"
            take(display, asked.programs, data, asked.question, shot)
        if not asked.only or "drop-light" in asked.only:
            drop(display, asked.programs, work / "drop", folder)


if __name__ == "__main__":
    main()
