// SPDX-License-Identifier: Apache-2.0

// What the pages of the studio share: a request to the program and its events, what is at work, what is
// wrong and where, files that are dropped, copies and colors.
"use strict";

const talk = (() => {
  const $ = (id) => document.getElementById(id);
  const { element } = charts;
  const form = $("controls");
  let running = null; // the AbortController of the study

  // study sends a request and hands its events to the handlers.
  async function study(body, handlers) {
    stop();
    const mine = running = new AbortController();
    busy(true);
    try {
      const response = await fetch("study", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal: mine.signal });
      if (!response.ok) return handlers.failed({ errors: [(await response.text()).trim()] });
      await events(response.body, (name, data) => { if (running === mine) handlers[name]?.(data); });
    } catch (error) {
      if (error.name !== "AbortError") handlers.failed({ errors: ["the program does not answer: it has ended, or refuses the connection"], hint: "noisewright studio" });
    } finally {
      if (running === mine) { running = null; busy(false); }
    }
  }

  function stop() {
    running?.abort();
    running = null;
  }

  // events reads server-sent events.
  async function events(body, handle) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const [first, second] = part.split("\n");
        handle(first.slice("event: ".length), JSON.parse(second.slice("data: ".length)));
      }
    }
  }

  function busy(on) {
    document.body.classList.toggle("busy", on);
    $("results").setAttribute("aria-busy", String(on));
    $("cancel").hidden = !on;
    document.documentElement.dataset.state = on ? "busy" : "idle";
  }

  const status = (text) => { $("status").textContent = text; };

  // visible reports whether a field is one of what is chosen.
  const visible = (e) => !e.closest("[hidden][data-kinds]");

  // fields are what the visible ones say, as flags.
  function fields() {
    const out = {};
    for (const e of form.querySelectorAll("[name]")) {
      const value = e.value.trim();
      if (visible(e) && value !== "") out[e.name] = value;
    }
    return out;
  }

  // choose shows the fields of a kind.
  function choose(kind) {
    for (const e of form.querySelectorAll("[data-kinds]")) e.hidden = !e.dataset.kinds.split(" ").includes(kind);
  }

  // described links a field to its hint, and to what is wrong with it.
  function described(e, ...wrong) {
    const ids = [...[...e.closest(".field").querySelectorAll(".hint")].map((hint) => hint.id), ...wrong];
    if (ids.length) e.setAttribute("aria-describedby", ids.join(" "));
    else e.removeAttribute("aria-describedby");
  }

  function clear() {
    $("failure").hidden = $("warning").hidden = true;
    for (const e of form.querySelectorAll("[aria-invalid]")) { e.removeAttribute("aria-invalid"); described(e); }
    for (const e of form.querySelectorAll(".wrong")) e.remove();
  }

  const sentences = (f) => [...f.errors.map((e) => element("p", {}, e)), ...(f.hint ? [element("p", { class: "quiet" }, `Hint: ${f.hint}`)] : [])];

  // complain says what is wrong, and where, if a sentence begins with the name of a field.
  function complain(f, about = f.errors) {
    $("failure").replaceChildren(...sentences(f));
    $("failure").hidden = false;
    for (const sentence of about) {
      const name = sentence.split(/[ =]/, 1)[0];
      const field = form.querySelector(`[data-for="${CSS.escape(name)}"]:not([hidden])`);
      if (!field) continue;
      const wrong = element("p", { class: "wrong", id: `wrong-${name}` }, sentence);
      field.append(wrong);
      for (const e of field.querySelectorAll("input:not([type=range]), select, textarea")) { e.setAttribute("aria-invalid", "true"); described(e, wrong.id); }
    }
  }

  function warn(w) {
    $("warning").replaceChildren(...sentences(w));
    $("warning").hidden = false;
  }

  // dropped hands over the files that are dropped anywhere on the page.
  function dropped(take) {
    let inside = 0; // drag events of children
    addEventListener("dragenter", (event) => { event.preventDefault(); inside++; document.body.classList.add("dragging"); });
    addEventListener("dragleave", () => { if (--inside <= 0) { inside = 0; document.body.classList.remove("dragging"); } });
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => { event.preventDefault(); inside = 0; document.body.classList.remove("dragging"); take(event.dataTransfer.files[0]); });
  }

  for (const b of document.querySelectorAll("[data-copy]")) {
    b.setAttribute("aria-label", `Copy the ${b.dataset.copy === "command" ? "command" : `${b.dataset.copy} program`}`);
    b.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText($(b.dataset.copy).textContent); b.textContent = "Copied"; } catch { b.textContent = "Not allowed"; }
      setTimeout(() => { b.textContent = "Copy"; }, 1500);
    });
  }
  // The colors are those of all pages until the tab is closed.
  const theme = $("theme");
  theme.value = document.documentElement.dataset.theme = sessionStorage.getItem("theme") ?? "";
  theme.addEventListener("change", () => { document.documentElement.dataset.theme = theme.value; sessionStorage.setItem("theme", theme.value); });
  form.addEventListener("submit", (event) => event.preventDefault());
  return { $, form, study, stop, busy, status, visible, fields, choose, clear, complain, warn, dropped };
})();
