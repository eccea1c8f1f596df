// SPDX-License-Identifier: Apache-2.0

// The page of the studio: fields to a request, events to what is shown. A change ends the
// study that runs. Guarantees are shown as the program wrote them.
"use strict";

(() => {
  const { $, form, study, stop, busy, status, visible, clear, complain } = talk;
  const { plot, table, element } = charts;
  const about = {
    table: "Noise that is added to the value of a query, whatever it is.",
    kernel: "Answers to a query in a known range; noise depends on the value.",
    local: "Answers to one person's value, before it leaves their device: any two values are hardly told apart.",
    shares: "Answers to one person's category, before it leaves their device, from which the shares of all categories are estimated.",
  };
  let file = null; // what was dropped: {name, text}
  let made = null; // what is shown
  let points = new Map(); // of the error against epsilon, by epsilon
  let pointsFor = ""; // the fields that they are for
  let began = 0;

  // Sliders and the numbers beside them.
  const short = (v) => String(Number(v.toPrecision(3)));
  const sliders = {
    epsilon: { read: (v) => short(10 ** v), write: (x) => Math.log10(x) },
    delta: { read: (v) => (v <= -12.95 ? "0" : short(10 ** v)), write: (x) => (x > 0 ? Math.log10(x) : -13) },
    sensitivity: { read: (v) => short(10 ** v), write: (x) => Math.log10(x) },
  };
  for (const [name, s] of Object.entries(sliders)) {
    const slide = $(`${name}-slide`), input = $(name);
    const say = () => slide.setAttribute("aria-valuetext", input.value);
    slide.addEventListener("input", () => { input.value = s.read(Number(slide.value)); say(); });
    input.addEventListener("input", () => { const v = s.write(Number(input.value)); if (Number.isFinite(v)) slide.value = v; say(); });
    slide.value = s.write(Number(input.value));
    say();
  }

  // kind is that of the request: of local answers, shares are another one.
  const kind = () => (form.elements.kind.value === "local" && $("query").value === "categories" ? "shares" : form.elements.kind.value);

  function fields() {
    const out = {};
    for (const e of form.querySelectorAll("[name]")) {
      if (e.name === "kind" || !visible(e) || (e.name === "query" && kind() === "shares") || (e.type === "checkbox" && !e.checked)) continue;
      const value = e.value.trim();
      if (value !== "" || e.name === "epsilon" || e.name === "delta") out[e.name] = value;
    }
    if (["kernel", "local"].includes(kind())) out.range = `${$("range-from").value.trim()},${$("range-to").value.trim()}`;
    return out;
  }

  function arrange() {
    if (form.elements.kind.value !== "local" && $("query").value === "categories") $("query").value = "real";
    talk.choose(kind());
    $("about").textContent = about[kind()];
    const choice = $("loss-choice").value;
    $("loss").hidden = choice !== "";
    if (choice !== "") $("loss").value = choice;
  }

  function request() {
    if (file) return { kind: "file", file: file.text, name: file.name, releases: $("releases").value.trim() };
    const f = fields();
    const { epsilon, ...others } = f;
    const key = JSON.stringify([kind(), others]);
    const known = [...points.keys()];
    const fresh = key !== pointsFor || known.length < 9 || epsilon < Math.min(...known) || epsilon > Math.max(...known);
    if (key !== pointsFor) { points = new Map(); pointsFor = key; }
    return { kind: kind(), fields: f, releases: $("releases").value.trim(), together: $("together").checked && visible($("together")), sweep: fresh };
  }

  // show asks for what the fields, or the file, say.
  function show() {
    clear();
    say(file ? `${file.name} is being verified.` : "");
    const body = request();
    study(body, {
      started: () => status("Designing…"),
      progress: (p) => status(`Designing: ${p.cells} cells, loss ${charts.approximate(p.loss)}${p.gap === null ? "" : `, gap ${charts.approximate(100 * p.gap, 2)} %`}, ${p.seconds.toFixed(1)} s`),
      warning: talk.warn,
      made: (m) => { showMade(m); status("Comparing…"); },
      compared: showCompared,
      curves: (c) => portraits.density($("density"), made, c),
      composed: showComposed,
      profile: (p) => { showProfile(p); if (body.sweep) status("Designing at other epsilons…"); },
      point: (p) => { points.set(p.epsilon, p); showSweep(); },
      failed: fail,
      end: () => status(`Done in ${Math.round(performance.now() - began)} ms.`),
    });
  }

  // say says of a file what holds of it now; "" if none is shown.
  function say(text) {
    $("shown").hidden = text === "";
    $("shown-name").textContent = text;
  }

  // fail says what is wrong, and where, if a sentence begins with the name of a field.
  function fail(f) {
    status("Stopped.");
    say(file ? `${file.name} is not proved${made ? "; what follows is of before" : ""}.` : "");
    $("results").classList.toggle("stale", made !== null); // of other fields
    complain(file ? { ...f, errors: f.errors.map((e) => `${file.name}: ${e}`) } : f, f.errors);
  }

  function showMade(m) {
    made = m;
    $("results").classList.remove("stale");
    $("figures").hidden = $("cards").hidden = false;
    say(file ? `${file.name}: every claim holds.` : "");
    $("expected").textContent = `≤ ${m.expected.text}`;
    $("expected-name").textContent = { local: "Expected loss", subset: "Variance × people" }[m.kind] ?? "Expected error";
    $("unit").textContent = `${m.loss}: ${m.loss_unit}`;
    $("bound").textContent = m.bound.value > 0 ? `${m.bound.text}` : "none";
    $("gap-shown").textContent = m.gap;
    headline(null);
    const ms = Math.round(performance.now() - began);
    $("took").textContent = `shown after ${ms} ms`;
    document.documentElement.dataset.ms = ms;
    const inner = m.intervals?.find((i) => i.level === 0.95);
    $("fourth").parentElement.hidden = m.kind === "subset"; // which has neither
    $("fourth-name").textContent = m.worst ? "Every value, at most" : "True value, 95 %";
    $("fourth").textContent = m.worst ? `≤ ${m.worst.text}` : inner ? portraits.interval(inner) : "–";
    $("fourth-unit").textContent = m.worst ? "expected loss" : "from the released one, query units";
    const isTable = m.kind === "table";
    $("card-density").hidden = $("card-intervals").hidden = !isTable;
    $("card-laws").hidden = isTable;
    $("card-values").hidden = !m.worst;
    $("card-compared").hidden = true;
    $("card-sweep").hidden = points.size === 0;
    if (points.size) showSweep();
    if (isTable) {
      portraits.density($("density"), m, []);
      portraits.quantiles($("quantiles"), m);
      $("intervals").replaceChildren(portraits.intervals(m));
    } else {
      const slide = $("value"), last = m.laws.values.length - 1;
      if (Number(slide.max) !== last) { slide.max = last; slide.value = Math.floor(last / 2); }
      showLaw();
      if (m.worst) portraits.lossByValue($("values"), m);
    }
    $("facts").replaceChildren(portraits.facts(m));
    $("command").textContent = m.command;
    $("go").textContent = m.go;
    $("python").textContent = m.python;
  }

  function showLaw() {
    const i = Number($("value").value), text = made.laws.values[i];
    $("value").setAttribute("aria-valuetext", text);
    $("value-shown").textContent = text;
    portraits.law($("laws"), made, i);
  }

  // headline says in words what is gained on what people use otherwise, and how much more there may be.
  function headline(usual) {
    const limit = made.bound.value > 0 ? `no ${made.kind === "table" ? "noise" : "answers of this kind"} can be better by more than ${made.gap}` : "no bound is known";
    let gain = "";
    if (usual) {
      const less = Math.floor(1000 * (1 - made.expected.value / usual.loss)) / 10; // not more than there is
      gain = less >= 0.5 ? `${less >= 10 ? Math.floor(less) : less} % less ${made.kind === "subset" ? "variance" : "error"} than ${usual.title}; ` : less > -0.5 ? `${usual.title} is as good; ` : `${usual.title} is better; `;
    }
    const text = gain + limit;
    $("headline").textContent = `${text[0].toUpperCase()}${text.slice(1)}.`;
    $("headline").hidden = false;
  }

  // usual is the mechanism that people take if they do not look further, of those that apply.
  function usual(mechanisms) {
    const [name, title] = made.kind === "subset" ? ["randomized-response", "randomized response"] : [$("query").value === "integer" && !file ? "discrete-laplace" : "laplace", "Laplace noise"];
    const m = mechanisms.find((m) => m.name === name && m.loss !== null);
    return m ? { loss: m.loss, title } : null;
  }

  function showCompared(c) {
    headline(usual(c.mechanisms));
    $("card-compared").hidden = false;
    const hopeless = (m) => m.loss > 100 * made.expected.value;
    const there = c.mechanisms.filter((m) => m.loss !== null && !hopeless(m));
    const without = c.mechanisms.filter((m) => m.loss === null || hopeless(m)).map((m) => (m.loss === null ? m : { ...m, note: "more than a hundred times the loss" }));
    $("compared").replaceChildren(
      table(`${made.kind === "subset" ? `${made.loss}, times the number of people` : "Expected loss"}${c.bound ? `; no noise is below ${c.bound.text}` : ""}. Losses but the first are approximate.`, ["mechanism", "loss", "above the bound", "note"], there.map((m) => [m.name, m.text, m.above || "–", m.note]), { right: [1, 2], own: [0] }),
      ...(without.length ? [table("Others", ["reason", "mechanisms"], [...Map.groupBy(without, (m) => m.note)].map(([note, group]) => [note, group.map((m) => m.name).join(", ")]))] : []));
  }

  function showComposed(c) {
    const of = (name) => c.rows.filter((r) => r[name]).map((r) => [r.releases, r[name].value, r[name].text]);
    // A line that would be on the first one is not drawn again.
    const same = (name) => of(name).length > 0 && of(name).every(([n, v]) => of("upper").some(([m, u]) => m === n && Math.abs(v / u - 1) < 1e-3));
    const one = ["basic", "lower"].filter(same);
    const styles = [["upper", one.includes("basic") ? "exact and basic composition" : "exact composition", "c1"], ["basic", "basic composition", "c2"], ["lower", "at least", "c6"]].filter(([name]) => !one.includes(name));
    plot($("composed"), {
      name: "Epsilon of several releases", summary: "Total epsilon against the number of releases, by exact and by basic composition.",
      x: { name: "releases", log: true, snap: true }, y: { name: "total epsilon", log: true, room: true }, here: c.releases > 1 ? c.releases : undefined,
      series: styles.map(([name, label, style], i) => ({ name: label, style, dots: i === 0, points: of(name) })).filter((s) => s.points.length),
    });
    $("composed-table").replaceChildren(table(c.total ? `Claimed for ${c.total} releases together` : "What releases of this cost together", ["releases", "delta", "epsilon at most", "at least", "basic"],
      c.rows.map((r) => [String(r.releases), r.delta, r.upper?.text ?? "–", r.lower?.text ?? "–", r.basic?.text ?? "–"]), { numeric: true, own: c.rows.flatMap((r, i) => (c.releases > 1 && r.releases === c.releases ? [i] : [])) }));
  }

  function showProfile(bands) {
    const styles = ["c1", "c2", "c4"];
    const least = made.delta > 0 ? made.delta * 1e-4 : 1e-12;
    plot($("profile"), {
      name: "Privacy profile", summary: `Delta of one release against epsilon, an upper bound; ${charts.approximate(made.delta)} is promised at epsilon ${made.epsilon}.`,
      x: { name: "epsilon", zero: true }, y: { name: "delta, at most", log: true, least, high: 1 }, here: made.epsilon, height: made.kind === "table" ? 300 : undefined,
      series: bands.map((b, i) => ({ name: b.name, style: styles[i], points: b.upper })),
    });
  }

  function showSweep() {
    const all = [...points.values()].sort((a, b) => a.epsilon - b.epsilon);
    $("card-sweep").hidden = all.length < 2;
    if (all.length < 2) return;
    // The designed noise, and of the others those that are best at the epsilon chosen.
    const most = 7, chosen = Math.log(made?.epsilon || 1);
    const near = all.reduce((a, b) => (Math.abs(Math.log(b.epsilon) - chosen) < Math.abs(Math.log(a.epsilon) - chosen) ? b : a));
    const [own, ...others] = near.mechanisms.filter((m, i) => i === 0 || (m.loss !== null && !(near.bound && m.loss < 0.999 * near.bound.value))); // below it: of queries of another kind
    const names = [own.name, ...others.sort((a, b) => a.loss - b.loss).slice(0, most).map((m) => m.name)];
    const styles = ["c1", "c2", "c3", "c4", "c5", "c7", "c8", "c6"];
    // Losses fall by powers of ten with epsilon, all alike; what tells them apart is how far each is above the bound.
    const above = all.every((p) => p.bound);
    const shown = (p, m) => (above ? [p.epsilon, 100 * (m.loss / p.bound.value - 1), `${charts.approximate(100 * (m.loss / p.bound.value - 1), 2)} %, ${m.text}`] : [p.epsilon, m.loss, m.text]);
    const series = names.map((name, i) => ({
      name, style: styles[i % styles.length], dots: i === 0,
      points: all.flatMap((p) => p.mechanisms.filter((m) => m.name === name && m.loss !== null).map((m) => shown(p, m))),
    }));
    const bound = all.filter((p) => p.bound).map((p) => (above ? [p.epsilon, 0, p.bound.text] : [p.epsilon, p.bound.value, p.bound.text]));
    if (bound.length) series.splice(1, 0, { name: "certified bound", style: "bound", points: bound });
    const designed = series[0].points.map((p) => p[1]), usual = series.find((s) => ["laplace", "discrete-laplace", "randomized-response"].includes(s.name));
    const y = above
      ? { name: "percent above the bound", low: 0, high: Math.min(200, Math.max(10, 1.2 * Math.max(...designed, ...(usual?.points.map((p) => p[1]) ?? [])))) }
      : { name: "expected loss", log: true, low: 0.7 * Math.min(...designed, ...bound.map((p) => p[1]).filter((v) => v > 0)), high: 6 * Math.max(...designed) };
    plot($("sweep"), {
      name: "Error against epsilon", summary: `${above ? "How far the expected loss of the designed noise and of the other mechanisms is above the certified lower bound" : "Expected loss of the designed noise and of the other mechanisms"}, against epsilon.`,
      x: { name: "epsilon", log: true, snap: true }, y, height: 300, here: made?.epsilon, series,
    });
  }

  // solve finds the epsilon of an error.
  function solve() {
    file = null;
    say("");
    clear();
    began = performance.now();
    const body = { ...request(), accept: $("accept").value.trim() || "0", sweep: false };
    $("answer").textContent = "";
    let found = null;
    study(body, {
      step: (s) => status(`Searching: at epsilon ${charts.approximate(s.epsilon)} the loss is ${s.loss.text}`),
      found: (f) => { found = f; },
      failed: fail,
      end: () => {
        const epsilon = $("epsilon");
        epsilon.value = found.epsilon;
        epsilon.dispatchEvent(new Event("input"));
        changed();
        $("answer").textContent = `Epsilon ${found.epsilon} has an expected loss of at most ${found.loss.text}.${found.below ? ` Below ${charts.approximate(found.below, 5)} no noise has one of ${found.accept}: that is proved.` : ""}`;
      },
    });
  }

  // Local answers begin with δ = 0, which costs nothing there, unless a delta was typed.
  const begins = { table: "1e-6", kernel: "1e-6", local: "0" };
  for (const e of form.elements.kind) {
    e.addEventListener("change", () => {
      const input = $("delta");
      if (!Object.values(begins).includes(input.value)) return;
      input.value = begins[e.value];
      input.dispatchEvent(new Event("input"));
    });
  }

  let timer = 0;
  // changed starts a study once the fields rest for a moment.
  function changed() {
    file = null;
    say("");
    arrange();
    clearTimeout(timer);
    $("answer").textContent = "";
    stop();
    if (made) $("results").classList.add("stale");
    began = performance.now();
    document.documentElement.dataset.state = "busy";
    timer = setTimeout(show, 25);
  }

  async function take(dropped) {
    if (!dropped) return;
    began = performance.now();
    if (made) $("results").classList.add("stale");
    clearTimeout(timer); // of a design
    stop();
    busy(false);
    clear();
    const large = dropped.size > 12 * 2 ** 20;
    const mine = file = { name: dropped.name, text: "" };
    if (large) return fail({ errors: ["larger than 12 MiB, want a table, a kernel, a local randomizer or a subset selection"] });
    mine.text = await dropped.text();
    if (file !== mine) return; // another one came, or a field changed
    points = new Map();
    pointsFor = "";
    show();
  }

  form.addEventListener("input", (event) => {
    if (["accept", "file"].includes(event.target.id)) return;
    changed();
  });
  $("value").addEventListener("input", showLaw);
  $("solve").addEventListener("click", solve);
  $("accept").addEventListener("keydown", (event) => { if (event.key === "Enter") solve(); });
  $("cancel").addEventListener("click", () => { stop(); busy(false); status("Cancelled."); });
  $("back").addEventListener("click", () => { $("file").value = ""; changed(); });
  $("file").addEventListener("change", (event) => take(event.target.files[0]));
  $("download").addEventListener("click", () => made && charts.download(made.name, made.file, "application/json"));
  talk.dropped(take);
  changed();
})();
