"""A window with one button from which the given paths can be dragged, as from a file manager.

usage: drag-source.py PATH...

Says on standard output what happens, a line each, so that a test waits for events and not for time:
    ready X Y        the window is on the screen; the middle of the button in screen pixels
    begin            the button noticed that it is being dragged
    accepted YES|NO  the window under the pointer would take the drop, or would not
    end YES|NO       the mouse button came up; whether the paths were asked for and taken
"""

import pathlib
import sys

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, Gtk  # noqa: E402  (versions have to be chosen first)

uris = [pathlib.Path(path).resolve().as_uri() for path in sys.argv[1:]]
asked = False


def say(*words):
    print(*words, flush=True)


def yes(condition):
    return "YES" if condition else "NO"


def on_map(window, _):
    # The window manager places a window before it maps it, so the origin is final.
    _, x, y = window.get_window().get_origin()
    place = button.get_allocation()
    say("ready", x + place.x + place.width // 2, y + place.y + place.height // 2)


def on_begin(_, context):
    say("begin")
    context.connect("action-changed", lambda _, action: say("accepted", yes(action)))


def on_data_get(_, context, selection, info, time):
    global asked
    asked = True
    selection.set_uris(uris)


def on_end(_, context):
    say("end", yes(asked))


window = Gtk.Window(title="drag source", default_width=160, default_height=120)
button = Gtk.Button(label="drag me")
button.drag_source_set(Gdk.ModifierType.BUTTON1_MASK, [], Gdk.DragAction.COPY)
button.drag_source_add_uri_targets()
button.connect("drag-begin", on_begin)
button.connect("drag-data-get", on_data_get)
button.connect("drag-end", on_end)
window.add(button)
window.connect("map-event", on_map)
window.connect("destroy", Gtk.main_quit)
window.move(0, 0)
window.show_all()
Gtk.main()
