"""Files and pages that say nothing, each something else, and questions about them."""

import functools
import http.server
import threading

WORDS = (
    "harbor reader compiler rain glass tide promise street map winter river bread ownership thread "
    "memory engine index search passage letter garden copper lantern orchard signal window"
).split()

QUESTIONS = [
    "how does the compiler keep its promise",
    "where is the map of the river",
    "bread in winter",
    "which engine reads the index",
    "lantern in the orchard",
]


def sentence(*numbers):
    a, b, c = (WORDS[number % len(WORDS)] for number in numbers)
    return f"The {a} remembers the {b} while the {c} is measured on day {numbers[0]}."


def prose(seed, sentences):
    """Text that no other seed has."""
    lines = (sentence(seed + at, seed // 3 + at * 5, seed * 7 + at) for at in range(sentences))
    return " ".join(lines)


def write_files(folder, count):
    for at in range(count):
        below = folder / f"part {at // 50}"
        below.mkdir(parents=True, exist_ok=True)
        parts = [f"## Part {part}\n\n{prose(at * 10 + part, 12)}\n" for part in range(2)]
        (below / f"note {at:04}.md").write_text(f"# Note {at}\n\n" + "\n".join(parts))


def write_pages(folder, count):
    """A site whose pages are found one through the other."""
    folder.mkdir(parents=True)
    for at in range(count):
        names = [f"page{child}.html" for child in range(at * 4 + 1, at * 4 + 5) if child < count]
        links = " ".join(f'<a href="{name}">{name}</a>' for name in names)
        body = f"<h1>Page {at}</h1><p>{prose(100_000 + at, 25)}</p><pre>let page = {at};</pre><p>{links}</p>"
        name = "index.html" if at == 0 else f"page{at}.html"
        (folder / name).write_text(f"<!doctype html><title>Page {at}</title><main>{body}</main>")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder):
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"
