// The keyboard: / searches, j and k move, x selects, Enter opens, r replays,
// ? explains. Keys that somebody types into a field are his.
const help = [["/", "search"], ["j, k", "next, previous row"], ["x", "select the row"], ["Enter", "open the row"], ["r", "replay: the question, or the one click"], ["Escape", "close a question; nothing is done"], ["?", "this help"]];

const rows = () => [...document.querySelectorAll("table.rows tbody tr")];
let at = "";

function current() {
  return rows().find((r) => r.dataset.key === at);
}

function move(by) {
  const all = rows();
  if (all.length === 0) return;
  const now = all.indexOf(current());
  const next = all[now < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(now + by, 0), all.length - 1)];
  at = next.dataset.key;
  mark();
  const link = next.querySelector("th a, a");
  if (link) link.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function mark() {
  for (const r of rows()) r.classList.toggle("at", at !== "" && r.dataset.key === at);
}

function explain() {
  const d = document.getElementById("ask");
  const box = document.createElement("section");
  box.className = "question";
  const title = document.createElement("h1");
  title.id = "question-title";
  title.textContent = "Keyboard";
  const list = document.createElement("dl");
  list.className = "facts";
  for (const [key, what] of help) {
    const dt = document.createElement("dt"), dd = document.createElement("dd"), k = document.createElement("kbd");
    k.textContent = key;
    dt.append(k);
    dd.textContent = what;
    list.append(dt, dd);
  }
  const close = document.createElement("button");
  close.textContent = "Close";
  close.dataset.close = "";
  close.type = "button";
  box.append(title, list, close);
  const before = document.activeElement;
  d.replaceChildren(box);
  if (!d.open) d.showModal();
  d.addEventListener("close", () => { if (before && before.isConnected) before.focus(); }, { once: true });
  close.focus();
}

const keys = {
  "/": () => document.getElementById("search")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  x: () => current()?.querySelector("input[name=ids]")?.click(),
  Enter: () => { const href = current()?.dataset.href; if (href) location.assign(href); return Boolean(href); },
  r: () => (current() || document.querySelector("main")).querySelector("form[action$='/replay'] button, form[action='/letters/replays'].act button")?.click(),
  "?": explain,
};

export function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    const field = event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (field || event.ctrlKey || event.metaKey || event.altKey || document.getElementById("ask").open) return;
    if (event.key === "Enter" && event.target.closest("a, button, summary, input")) return;
    const act = keys[event.key];
    if (!act) return;
    if (act() !== false) event.preventDefault();
  });
  document.addEventListener("focusin", (event) => {
    const row = event.target.closest("table.rows tbody tr");
    if (row && row.dataset.key) { at = row.dataset.key; mark(); }
  });
  document.addEventListener("shown", mark);
  const button = document.querySelector("[data-help]");
  if (button) {
    button.hidden = false;
    button.addEventListener("click", explain);
  }
}
