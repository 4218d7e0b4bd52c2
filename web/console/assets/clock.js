// Relative times go on while a page stands still.
const minute = 60, hour = 60 * minute, day = 24 * hour;

// span is internal/words.Span.
export function span(seconds) {
  const s = Math.abs(Math.trunc(seconds));
  const two = (large, name, small, smallName) => {
    const rest = Math.trunc((s % large) / small);
    return `${Math.trunc(s / large)} ${name}` + (rest > 0 ? ` ${rest} ${smallName}` : "");
  };
  if (s < minute) return `${s} s`;
  if (s < 90 * minute) return `${Math.trunc(s / minute)} min`;
  if (s < 48 * hour) return two(hour, "h", minute, "min");
  return two(day, "d", hour, "h");
}

export function ago(iso, now = Date.now()) {
  const seconds = (now - Date.parse(iso)) / 1000;
  if (Math.abs(seconds) < 1) return "now";
  return seconds < 0 ? `in ${span(seconds)}` : `${span(seconds)} ago`;
}

function tick() {
  for (const e of document.querySelectorAll("[data-ago]")) {
    const text = ago(e.dataset.ago);
    if (e.textContent !== text) e.textContent = text;
  }
}

export function tickClocks() {
  setInterval(tick, 1000);
}
