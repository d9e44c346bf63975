// What the page needs before the first component is there: the system's theme, keys that arrive
// while nothing has the focus, copying (allowed only inside the click itself), and scrolling.
(() => {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const tell = () => { root.dataset.system = dark.matches ? "dark" : "light"; };
  dark.addEventListener("change", tell);
  tell();

  document.addEventListener("keydown", (event) => {
    const app = document.getElementById("app");
    if (event.target !== document.body || !app) return;
    const again = new KeyboardEvent(event.type, event);
    app.focus({ preventScroll: true });
    if (!app.dispatchEvent(again)) event.preventDefault();
  });

  // A letter that is typed into a box is no command: it need not go to the program and back before it is on screen.
  document.addEventListener("keydown", (event) => {
    const plain = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (plain && event.target.matches?.("input[type=text], textarea")) event.stopPropagation();
  }, { capture: true });

  // What is typed while the results have the focus goes on in the query.
  document.addEventListener("keydown", (event) => {
    const box = document.getElementById("query");
    const types = event.key.length === 1 && ![" ", "/", "?"].includes(event.key);
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (box && types && plain && event.target.closest?.("#results")) {
      box.focus();
      box.setSelectionRange(box.value.length, box.value.length);
    }
  }, { capture: true });

  const copy = (text) => {
    const box = document.createElement("textarea");
    box.value = text;
    box.style.position = "fixed";
    box.style.opacity = "0";
    const focused = document.activeElement;
    document.body.append(box);
    box.select();
    const copied = document.execCommand("copy");
    box.remove();
    focused?.focus?.({ preventScroll: true });
    return copied;
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    button.dataset.copied = copy(button.dataset.copy) ? "yes" : "no";
    setTimeout(() => { delete button.dataset.copied; }, 1600);
  });

  // When the reader's width changes, the line that was on top stays on top.
  let top = null;
  const remember = (reader) => {
    const box = reader.getBoundingClientRect();
    top = null;
    for (let y = 8; y < 120 && !top; y += 14) {
      const line = document.elementFromPoint(box.left + box.width / 3, box.top + y);
      // Between two blocks there is only the text as a whole, which says nothing of the place.
      if (line?.closest(".block")) top = { line, above: place(line, reader) };
    }
  };
  const place = (line, reader) =>
    line.getBoundingClientRect().top - reader.getBoundingClientRect().top;
  let width = 0;
  document.addEventListener("scroll", ({ target }) => {
    // Text that became shorter scrolls by itself, before the new width is told of.
    if (target.id === "reader-text" && target.clientWidth === width) remember(target);
  }, { capture: true, passive: true });
  const watch = new ResizeObserver(([{ target }]) => {
    const changed = width !== 0 && width !== target.clientWidth;
    width = target.clientWidth;
    if (changed && top?.line.isConnected) target.scrollTop += place(top.line, target) - top.above;
  });

  // And when a part is put in above it.
  const grown = new MutationObserver(() => {
    const reader = document.getElementById("reader-text");
    if (reader && top?.line.isConnected) reader.scrollTop += place(top.line, reader) - top.above;
  });

  // What had the focus before something was laid over the window.
  let before = null;
  // Keys stay in what lies over the window: Tab goes round in it.
  document.addEventListener("keydown", (event) => {
    const dialog = document.querySelector("[role=dialog]");
    if (event.key !== "Tab" || !dialog) return;
    const stops = [...dialog.querySelectorAll("button:not(:disabled), input, [tabindex='0']")];
    const at = stops.indexOf(document.activeElement);
    const to = event.shiftKey ? (at <= 0 ? stops.length - 1 : at - 1) : (at + 1) % stops.length;
    stops[to]?.focus();
    event.preventDefault();
  }, { capture: true });

  // Whether what the program drew last was put into the page within a frame.
  let inFrame = true;

  // Within a frame: the rest of it, the painting, comes before the next message is taken.
  const framePainted = () => new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(0);
  });
  const painted = () => new Promise((done) => {
    requestAnimationFrame(() => framePainted().then(done));
  });

  // How long a person waits: from a key to the frame in which its answer is.
  let pressed = null;
  let asked = null;
  document.addEventListener("keydown", (event) => { pressed = event.timeStamp; }, { capture: true });
  document.addEventListener("input", ({ target, timeStamp }) => {
    if (target.id === "query") asked = { text: target.value.trim(), at: pressed ?? timeStamp };
    pressed = null;
  }, { capture: true });
  new MutationObserver(async ([{ target }]) => {
    if (asked === null || target.dataset.answered !== asked.text) return;
    const { at } = asked;
    asked = null;
    await (inFrame ? framePainted() : painted());
    window.lodestone.onShown?.(performance.now() - at);
  }).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-answered"] });

  window.lodestone = {
    painted,
    // The passage starts in the upper part of the reader; when what answers best in it would then
    // be out of sight, that comes to the middle instead.
    showInReader(id) {
      const chosen = document.getElementById(id);
      const reader = document.getElementById("reader-text");
      if (!chosen || !reader) return;
      watch.observe(reader);
      grown.observe(reader, { subtree: true, childList: true });
      width = reader.clientWidth;
      const below = (part) => place(part, reader) + reader.scrollTop;
      const best = reader.querySelector("[data-best]");
      let to = below(chosen) - reader.clientHeight * 0.18;
      if (best && below(best) - to > reader.clientHeight * 0.75) {
        to = below(best) - reader.clientHeight * 0.4;
      }
      reader.scrollTo({ top: to });
      remember(reader);
      // A face that arrives late moves the text.
      if (document.fonts.status === "loading") {
        document.fonts.ready.then(() => this.showInReader(id));
      }
    },
    // Moves the focus among the rows of a list; above the first is the box that filters them.
    moveRow(by, box) {
      const list = document.querySelector(".rows");
      const rows = [...(list?.querySelectorAll(".row[tabindex]") ?? [])];
      const at = rows.indexOf(document.activeElement?.closest?.(".row"));
      const top = list?.getBoundingClientRect().top ?? 0;
      const visible = rows.findIndex((row) => row.getBoundingClientRect().top >= top);
      if (at < 0 && by > 0) rows[Math.max(visible, 0)]?.focus();
      else if (at === 0 && by < 0) document.getElementById(box)?.focus();
      else if (at >= 0) rows[Math.min(Math.max(at + by, 0), rows.length - 1)].focus();
    },
    rememberFocus() {
      const focused = document.activeElement;
      if (!focused?.closest?.("[role=dialog]")) before = focused;
    },
    returnFocus(box) {
      const to = before?.isConnected && before !== document.body ? before : null;
      before = null;
      (to ?? document.getElementById(box))?.focus?.({ preventScroll: true });
    },
    // A row that is far away is in the page only once the list has been scrolled there.
    focusRow(row, height) {
      const list = document.querySelector(".rows");
      if (!list) return;
      const top = row * height;
      if (top < list.scrollTop) list.scrollTop = top;
      else if (top + height > list.scrollTop + list.clientHeight) {
        list.scrollTop = top + height - list.clientHeight;
      }
      const focus = (tries) => {
        const found = document.getElementById(`row-${row}`);
        if (found) found.focus({ preventScroll: true });
        else if (tries > 0) requestAnimationFrame(() => focus(tries - 1));
      };
      focus(30);
    },
    // Dioxus keeps what it draws for the next frame. Put into the page when it comes, it is laid out while the frame is
    // waited for; what comes before that frame as well is kept for it. What comes as a blob would take a way through another
    // process before it can be read.
    drawAtOnce() {
      const { interpreter } = window;
      const put = (drawn, when) => {
        inFrame = when;
        interpreter.run_from_bytes(drawn);
        interpreter.markEditsFinished();
      };
      let awaited = false;
      interpreter.rafEdits = (drawn) => {
        if (awaited) {
          requestAnimationFrame(() => put(drawn, true));
          return;
        }
        awaited = true;
        requestAnimationFrame(() => { awaited = false; });
        put(drawn, false);
        document.body.getBoundingClientRect();
      };
      const { edits } = interpreter;
      const { onmessage } = edits;
      edits.binaryType = "arraybuffer";
      edits.onmessage = (event) => {
        if (event.data instanceof ArrayBuffer) interpreter.rafEdits(event.data);
        else onmessage(event);
      };
    },
    loadFonts() {
      for (const face of document.fonts) face.load();
    },
  };
})();
