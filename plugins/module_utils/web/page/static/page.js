// SPDX-FileCopyrightText: 2026 The stackci.nodepool contributors
// SPDX-License-Identifier: GPL-3.0-or-later
// Keeps the page up to date: requests its changing part, replaces what differs, and updates the ages.
"use strict";
(() => {
  const EVERY = 750, LONGEST = 30000, PATIENCE = 10000, TYPING = 200;
  const content = document.getElementById("content");
  const live = document.getElementById("live");
  const liveText = document.getElementById("live-text");
  const pause = document.getElementById("pause");
  const said = document.getElementById("said");
  let paused = false, failures = 0, timer = 0, asked = null, tag = "", taggedUrl = "", announced = said.textContent, known = Date.now(), skew = 0;

  // -- ages ------------------------------------------------------------------------------------------------------

  const span = (seconds) => {
    let left = Math.max(0, Math.round(seconds));
    const parts = [];
    for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
      if (left >= size) { parts.push(`${Math.floor(left / size)} ${unit}`); left %= size; }
    }
    if (left || !parts.length) parts.push(`${left} s`);
    return parts.slice(0, 2).join(" ");
  };

  const now = () => (Date.now() + skew) / 1000;

  const tick = () => {
    if (document.hidden || paused) return;
    for (const time of content.querySelectorAll("time[data-at], time[data-until]")) {
      const told = time.dataset.at ? span(now() - Number(time.dataset.at)) : span(Number(time.dataset.until) - now());
      if (time.textContent !== told) time.textContent = told;
    }
    if (failures) tellLost();
  };

  // -- replacing what differs ------------------------------------------------------------------------------------

  const keyOf = (node) => (node.nodeType === 1 ? node.dataset.key : undefined);
  const alike = (one, other) => one.nodeType === other.nodeType && one.nodeName === other.nodeName && keyOf(one) === keyOf(other);

  const update = (old, fresh) => {
    if (old.nodeType !== 1) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    if (old.isEqualNode(fresh)) return;
    // Whoever has opened a part keeps it open.
    const kept = old.nodeName === "DETAILS" ? "open" : "";
    for (const name of old.getAttributeNames()) if (name !== kept && !fresh.hasAttribute(name)) old.removeAttribute(name);
    for (const name of fresh.getAttributeNames()) {
      if (old.getAttribute(name) !== fresh.getAttribute(name)) old.setAttribute(name, fresh.getAttribute(name));
    }
    children(old, fresh);
  };

  const children = (old, fresh) => {
    const name = (child) => `${child.nodeName} ${keyOf(child)}`;
    const kept = new Set(Array.from(fresh.children, name));
    const keyed = new Map();
    for (const child of Array.from(old.children)) {
      if (keyOf(child) === undefined) continue;
      // Removed elements are deleted first, so that the others need not be moved: a moved element loses the focus.
      if (kept.has(name(child)) && !keyed.has(name(child))) keyed.set(name(child), child); else child.remove();
    }
    let place = old.firstChild;
    for (const wanted of Array.from(fresh.childNodes)) {
      const key = keyOf(wanted);
      const found = key === undefined ? place && alike(place, wanted) && place : keyed.get(name(wanted));
      if (!found) {
        const added = old.insertBefore(wanted, place);
        if (added.nodeName === "TR" || added.nodeName === "LI") added.classList.add("fresh");
      } else {
        if (key !== undefined) keyed.delete(name(wanted));
        if (found === place) place = place.nextSibling; else old.insertBefore(found, place);
        update(found, wanted);
      }
    }
    while (place) { const next = place.nextSibling; place.remove(); place = next; }
  };

  // Says only what has changed: what a button has said since stays.
  const say = () => {
    const fresh = content.querySelector("[data-say]")?.dataset.say;
    if (fresh !== undefined && fresh !== announced) said.textContent = announced = fresh;
  };

  // -- requests --------------------------------------------------------------------------------------------------

  const clock = (at) => new Date(at).toLocaleTimeString([], { hour12: false });

  const tell = (state, text) => {
    const name = `live ${state}`.trim();
    if (live.className !== name) live.className = name;
    if (liveText.textContent !== text) liveText.textContent = text;
  };

  // While ZooKeeper is away, the service answers with the last known state: that is not live.
  const tellFound = () => {
    const away = content.querySelector("[data-key=away], [data-key=unread]");
    const old = away?.querySelector("time[data-at]");
    if (!away) tell("", `live, ${clock(known)}`);
    else tell("lost", old ? `state of ${clock(Number(old.dataset.at) * 1000)}` : "nothing is known yet");
  };

  let next = 0;
  const tellLost = () => tell("lost", `no answer since ${clock(known)}, next try in ${span((next - Date.now()) / 1000)}`);

  const plan = (delay) => {
    clearTimeout(timer);
    next = Date.now() + delay;
    if (!paused && !document.hidden) timer = setTimeout(ask, delay);
  };

  const ask = async () => {
    if (asked) asked.abort();
    const mine = asked = new AbortController();
    const limit = setTimeout(() => mine.abort(), PATIENCE);
    const url = new URL(location.href);
    url.searchParams.set("fragment", "1");
    url.hash = "";
    try {
      const headers = tag && taggedUrl === url.href ? { "If-None-Match": tag } : {};
      const answer = await fetch(url, { headers, signal: mine.signal, cache: "no-store" });
      if (answer.status !== 304) {
        const html = (answer.headers.get("Content-Type") || "").startsWith("text/html");
        if (!html || ![200, 404, 503].includes(answer.status)) throw new Error(`status ${answer.status}`);
        const parsed = new DOMParser().parseFromString(`<div>${await answer.text()}</div>`, "text/html");
        if (mine !== asked) return;
        children(content, parsed.body.firstChild);
        tag = answer.headers.get("ETag") || "";
        taggedUrl = url.href;
      }
      const date = Date.parse(answer.headers.get("Date") || "");
      if (date && Math.abs(date - Date.now()) > 5000) skew = date - Date.now(); else skew = 0;
      failures = 0;
      known = Date.now();
      if (paused) tell("paused", `paused at ${clock(known)}`); else tellFound();
      say();
      tick();
      plan(EVERY);
    } catch (problem) {
      if (mine !== asked) return;
      failures += 1;
      said.textContent = "The service does not answer";
      plan(Math.min(LONGEST, EVERY * 2 ** failures));
      tellLost();
    } finally {
      clearTimeout(limit);
      if (mine === asked) asked = null;
    }
  };

  // -- user input --------------------------------------------------------------------------------------------------

  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    clearTimeout(timer);
    if (paused) tell("paused", `paused at ${clock(known)}`); else ask();
  });

  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!document.hidden && !paused) ask();
  });

  content.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      said.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
      said.textContent = "selected: copy it with the keyboard";
    }
  });

  for (const form of document.querySelectorAll("form[data-live]")) {
    let typing = 0;
    const search = () => {
      const url = new URL(form.action);
      for (const [name, value] of new FormData(form)) if (String(value).trim()) url.searchParams.set(name, String(value).trim());
      history.replaceState(null, "", url);
      ask();
    };
    form.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(search, TYPING); });
    form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(typing); search(); });
  }

  document.documentElement.classList.add("scripted");
  live.hidden = false;
  tellFound();
  say();
  setInterval(tick, 1000);
  plan(EVERY);
})();
