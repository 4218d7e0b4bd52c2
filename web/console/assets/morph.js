// morph changes a tree into another with as few touches as possible, so that
// focus, scroll, selection, open folds and what somebody typed survive.
export function morph(from, to) {
  attributes(from, to);
  const kept = keyed(from);
  let at = from.firstChild;
  for (let want = to.firstChild; want; ) {
    const next = want.nextSibling;
    const key = keyOf(want);
    const match = key ? kept.get(key) : at && alike(at, want) ? at : null;
    if (match) {
      if (match !== at) from.insertBefore(match, at);
      else at = at.nextSibling;
      kept.delete(key);
      become(match, want);
    } else {
      from.insertBefore(want, at);
    }
    want = next;
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

function keyOf(node) {
  return node.nodeType === 1 ? node.dataset.key || node.id || "" : "";
}

function keyed(parent) {
  const all = new Map();
  for (const child of parent.children) {
    const key = keyOf(child);
    if (key) all.set(key, child);
  }
  return all;
}

function alike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);
}

function become(now, want) {
  if (now.nodeType !== 1) {
    if (now.nodeValue !== want.nodeValue) now.nodeValue = want.nodeValue;
    return;
  }
  if (now.dataset.keep !== undefined) return; // somebody works in it
  morph(now, want);
}

// What a person set stays: open folds, ticks, text that was typed.
const personal = new Set(["open", "checked", "value"]);

function attributes(now, want) {
  for (const { name, value } of want.attributes) {
    if (!personal.has(name) && now.getAttribute(name) !== value) now.setAttribute(name, value);
  }
  for (const { name } of [...now.attributes]) {
    if (!personal.has(name) && name !== "class" && !want.hasAttribute(name)) now.removeAttribute(name);
  }
  if (!want.hasAttribute("class") && now.hasAttribute("class")) now.removeAttribute("class");
}
