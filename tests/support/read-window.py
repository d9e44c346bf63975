"""Prints what a window shows, as a screen reader is told of it: a JSON list in reading order.

usage: read-window.py APPLICATION

Each entry has the role, the name (an accessible label, or what a button says), the text, whether it takes
the focus and has it, and the place on the screen as x, y, width and height. What is hidden or scrolled away is left out. An
application that is not known (yet) gives an empty list.
"""

import json
import sys
import warnings

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402  (versions have to be chosen first)

# The calls that replace the deprecated ones do not exist in Debian 12.
warnings.simplefilter("ignore", DeprecationWarning)


def text_of(accessible):
    text = accessible.get_text_iface()
    return Atspi.Text.get_text(text, 0, -1) if text else ""


def place_of(accessible):
    component = accessible.get_component_iface()
    if not component:
        return None
    place = component.get_extents(Atspi.CoordType.SCREEN)
    return {"x": place.x, "y": place.y, "width": place.width, "height": place.height}


def entries(accessible):
    try:
        states = accessible.get_state_set()
        place = place_of(accessible)
        if place and states.contains(Atspi.StateType.SHOWING):
            yield {
                "role": accessible.get_role_name(),
                "name": accessible.get_name() or "",
                "text": text_of(accessible),
                "focusable": states.contains(Atspi.StateType.FOCUSABLE),
                "focused": states.contains(Atspi.StateType.FOCUSED),
                **place,
            }
        children = [accessible.get_child_at_index(i) for i in range(accessible.get_child_count())]
    except GLib.Error:
        # The page changed under us and this part is gone.
        return
    for child in children:
        if child:
            yield from entries(child)


def main():
    (wanted,) = sys.argv[1:]
    desktop = Atspi.get_desktop(0)
    applications = [desktop.get_child_at_index(i) for i in range(desktop.get_child_count())]
    found = [a for a in applications if a and a.get_name() == wanted]
    print(json.dumps([entry for application in found for entry in entries(application)]))


main()
