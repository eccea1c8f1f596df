// SPDX-License-Identifier: Apache-2.0

// Charts and tables of the pages, drawn with the DOM alone. All text is set as text. Numbers
// that are guarantees come as texts and are shown as they are; others are rounded here.
"use strict";

const charts = (() => {
  const svgSpace = "http://www.w3.org/2000/svg";

  // element makes one with attributes and children, which are elements or texts.
  function element(name, attributes, ...children) {
    const e = document.createElement(name);
    set(e, attributes);
    e.append(...children.filter((c) => c !== undefined && c !== null));
    return e;
  }

  function drawn(name, attributes, ...children) {
    const e = document.createElementNS(svgSpace, name);
    set(e, attributes);
    e.append(...children);
    return e;
  }

  function set(e, attributes) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== undefined && value !== null && value !== false) e.setAttribute(name, value === true ? "" : value);
    }
  }

  // approximate writes a number to a few digits.
  function approximate(x, digits = 4) {
    if (x === 0) return "0";
    if (!Number.isFinite(x)) return "–";
    const a = Math.abs(x);
    return a >= 1e6 || a < 1e-4 ? x.toExponential(Math.min(digits - 1, 2)).replace("e+", "e") : String(Number(x.toPrecision(digits)));
  }

  // label writes a number at an axis.
  const label = (x) => approximate(x, 6).replace(/\.?0+e/, "e");

  // scale maps numbers to pixels; a logarithmic one takes positive numbers.
  function scale(low, high, from, to, log) {
    const f = log ? Math.log10 : (v) => v;
    const a = f(low), b = f(high);
    const at = (v) => from + ((f(v) - a) / (b - a || 1)) * (to - from);
    at.invert = (p) => { const v = a + ((p - from) / (to - from)) * (b - a); return log ? 10 ** v : v; };
    at.ticks = log ? logTicks(low, high, Math.abs(to - from)) : linearTicks(low, high, Math.abs(to - from) / (to > from ? 70 : 42)); // labels are wide, and not high
    return at;
  }

  function linearTicks(low, high, most) {
    const raw = (high - low) / Math.max(2, most);
    if (!(raw > 0)) return [low];
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) || raw;
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(Number((i * step).toPrecision(10)));
    return ticks;
  }

  function logTicks(low, high, pixels) {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    const wide = last - first > 2;
    const every = Math.max(1, Math.ceil((last - first) / (pixels / 45)));
    const ticks = [];
    for (let e = first; e <= last; e++) {
      for (const m of wide ? [1] : [1, 2, 5]) {
        const v = Number(`${m}e${e}`);
        if (v >= low * 0.999 && v <= high * 1.001 && (!wide || (e - first) % every === 0)) ticks.push(v);
      }
    }
    return ticks;
  }

  const ends = (values) => [Math.min(...values), Math.max(...values)];

  // extent is the range of an axis that holds all points.
  function extent(values, axis) {
    let v = values.filter((x) => Number.isFinite(x) && (!axis.log || x > 0));
    if (v.length === 0) return [axis.log ? 0.1 : 0, 1];
    let [low, high] = v.length > 5000 ? [v.reduce((a, b) => Math.min(a, b)), v.reduce((a, b) => Math.max(a, b))] : ends(v);
    if (axis.zero) low = Math.min(low, 0);
    if (axis.least !== undefined) low = Math.max(low, axis.least);
    if (axis.low !== undefined) low = axis.low;
    if (axis.high !== undefined) high = axis.high;
    if (low === high) { if (axis.log) { low /= 2; high *= 2; } else { low -= 0.5; high += 0.5; } }
    if (axis.room) high = axis.log ? high * (high / low) ** 0.06 : high + 0.08 * (high - low);
    return [low, high];
  }

  const observed = new WeakMap(); // elements and what they show
  const observer = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const shown = observed.get(target);
      if (shown && Math.abs(shown.width - contentRect.width) > 1) draw(target, shown.chart);
    }
  });

  // plot shows a chart: {summary, name, x, y, series, here, atom, rows}. An atom too small to be seen is not drawn. An axis is {name, log,
  // zero, room, low, high}; a series {name, points, style, fill, dots, bars, whiskers, digits}, of which
  // a point is [x, y, text], the text of y if it is a guarantee, and with whiskers their ends.
  function plot(target, chart) {
    draw(target, chart);
    observer.observe(target);
  }

  function draw(target, chart) {
    const width = Math.max(target.clientWidth, 200);
    const height = chart.height || Math.round(Math.min(300, Math.max(190, width * 0.48)));
    observed.set(target, { chart, width: target.clientWidth });
    const open = target.querySelector("details")?.open;
    const all = chart.series.flatMap((s) => s.points);
    let [x0, x1] = extent(all.map((p) => p[0]), chart.x);
    if (chart.series[0].bars) { const more = 0.03 * (x1 - x0); x0 -= more; x1 += more; }
    const [y0, y1] = extent(all.map((p) => p[1]).concat(chart.y.also || []), chart.y);
    const pad = { left: 30, right: 12, top: 8, bottom: 40 };
    pad.left += 6.4 * Math.max(...scale(y0, y1, height - pad.bottom, pad.top, chart.y.log).ticks.map((v) => label(v).length), 2);
    const x = scale(x0, x1, pad.left, width - pad.right, chart.x.log), y = scale(y0, y1, height - pad.bottom, pad.top, chart.y.log);
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.summary });
    axes(svg, chart, x, y, width, height, pad);
    const clip = `clip-${target.id}`;
    svg.append(drawn("clipPath", { id: clip }, drawn("rect", { x: pad.left, y: pad.top - 2, width: width - pad.left - pad.right, height: height - pad.top - pad.bottom + 3 })));
    const inside = drawn("g", { "clip-path": `url(#${clip})` });
    svg.append(inside);
    if (chart.here !== undefined && chart.here >= x0 && chart.here <= x1) inside.append(drawn("line", { class: "here", x1: x(chart.here), x2: x(chart.here), y1: pad.top, y2: height - pad.bottom }));
    for (const s of [...chart.series].reverse()) inside.append(...lines(s, x, y, y0, chart));
    if (chart.atom >= 1e-3) inside.append(drawn("line", { class: "atom", x1: x(0), x2: x(0), y1: height - pad.bottom, y2: pad.top }), drawn("path", { class: "bar", d: `M${x(0) - 4},${pad.top + 8}h8l-4,-9z` }));
    const tip = element("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    const cross = drawn("line", { class: "here", y1: pad.top, y2: height - pad.bottom, visibility: "hidden" });
    svg.append(cross);
    svg.addEventListener("pointermove", (event) => point(event, { svg, tip, cross, chart, x, width, pad }));
    svg.addEventListener("pointerleave", () => { tip.hidden = true; cross.setAttribute("visibility", "hidden"); });
    const save = element("button", { type: "button", class: "save", "aria-label": `Download as SVG: ${chart.name}` }, "SVG");
    save.addEventListener("click", () => download(`${target.id}.svg`, picture(svg, chart), "image/svg+xml"));
    target.replaceChildren(save, legend(chart), svg, tip, data(chart, open));
  }

  function axes(svg, chart, x, y, width, height, pad) {
    const bottom = height - pad.bottom, right = width - pad.right;
    const g = drawn("g", { class: "axis" });
    for (const v of x.ticks) {
      g.append(drawn("line", { class: "rule", x1: x(v), x2: x(v), y1: pad.top, y2: bottom }), drawn("text", { x: x(v), y: bottom + 15, "text-anchor": "middle" }, (chart.x.label || label)(v)));
    }
    for (const v of y.ticks) {
      g.append(drawn("line", { class: "rule", x1: pad.left, x2: right, y1: y(v), y2: y(v) }), drawn("text", { x: pad.left - 6, y: y(v) + 4, "text-anchor": "end" }, (chart.y.label || label)(v)));
    }
    g.append(drawn("line", { x1: pad.left, x2: right, y1: bottom, y2: bottom }));
    svg.append(g, drawn("text", { class: "axis-name", x: (pad.left + right) / 2, y: height - 6, "text-anchor": "middle" }, chart.x.name));
    svg.append(drawn("text", { class: "axis-name", transform: `translate(12 ${(pad.top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, chart.y.name));
  }

  function lines(s, x, y, y0, chart) {
    const usable = s.points.filter((p) => (!chart.y.log || p[1] > 0) && (!chart.x.log || p[0] > 0));
    if (s.bars) {
      const w = Math.max(1.5, Math.min(26, 0.7 * spacing(usable, x)));
      return usable.map((p) => drawn("rect", { class: "bar", x: x(p[0]) - w / 2, width: w, y: y(p[1]), height: Math.max(0, y(y0) - y(p[1])) }));
    }
    if (s.whiskers) return usable.flatMap((p) => [drawn("line", { class: "whisker", x1: x(p[0]), x2: x(p[0]), y1: y(p[3]), y2: y(p[4]) }), drawn("circle", { class: "dot", cx: x(p[0]), cy: y(p[1]), r: 3.2 })]);
    const d = usable.map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)},${y(p[1]).toFixed(1)}`).join("");
    const out = [drawn("path", { class: `curve ${s.style}`, d })];
    if (s.fill && usable.length) out.unshift(drawn("path", { class: "fill", d: `${d}L${x(usable.at(-1)[0])},${y(y0)}L${x(usable[0][0])},${y(y0)}Z` }));
    if (s.dots) out.push(...usable.map((p) => drawn("circle", { class: `dot`, cx: x(p[0]), cy: y(p[1]), r: 3.2 })));
    return out;
  }

  function spacing(points, x) {
    let least = 40;
    for (let i = 1; i < points.length; i++) least = Math.min(least, Math.abs(x(points[i][0]) - x(points[i - 1][0])));
    return least;
  }

  function legend(chart) {
    const list = element("ul", { class: "legend" });
    for (const s of chart.series) {
      if (!s.name) continue;
      const key = drawn("svg", { viewBox: "0 0 27 11", "aria-hidden": "true" }, s.bars ? drawn("rect", { class: "bar", x: 8, y: 1, width: 10, height: 9 }) : drawn("line", { class: `curve ${s.style}`, x1: 1, x2: 26, y1: 6, y2: 6 }));
      list.append(element("li", {}, key, s.name));
    }
    return list;
  }

  // nearest is the point of a series at a value of x: of a line, the last one before it.
  function nearest(points, at) {
    let best = null;
    for (const p of points) if (best === null || Math.abs(p[0] - at) < Math.abs(best[0] - at)) best = p;
    return best;
  }

  function point(event, { svg, tip, cross, chart, x, width, pad }) {
    const box = svg.getBoundingClientRect();
    const px = Math.min(Math.max(((event.clientX - box.left) / box.width) * width, pad.left), width - pad.right);
    const at = x.invert(px);
    const texts = [];
    for (const s of chart.series) {
      const p = nearest(s.points, at);
      if (p && s.name) texts.push(`${s.name}: ${p[2] || approximate(p[1])}`);
    }
    const main = nearest(chart.series[0].points, at);
    tip.textContent = [`${chart.x.short || chart.x.name}: ${approximate(chart.x.snap && main ? main[0] : at)}`, ...texts].join("\n");
    tip.hidden = false;
    cross.setAttribute("visibility", "visible");
    cross.setAttribute("x1", px);
    cross.setAttribute("x2", px);
    const half = tip.offsetWidth + 14 > box.width - (px / width) * box.width;
    tip.style.left = `${(px / width) * box.width + (half ? -tip.offsetWidth - 12 : 12)}px`;
    tip.style.top = `${svg.offsetTop + 12}px`;
  }

  // data is the chart as a table, for who does not see it.
  function data(chart, open) {
    const most = 15;
    const details = element("details", { open: Boolean(open) }, element("summary", {}, "As a table"));
    const named = chart.series.filter((s) => s.name && s.points.length);
    if (named.length) {
      const main = named[0].points;
      const every = Math.max(1, Math.ceil(main.length / most));
      const rows = main.filter((_, i) => i % every === 0).map((p) => [approximate(p[0]), ...named.map((s) => { const q = nearest(s.points, p[0]); return q[2] || approximate(q[1]); })]);
      details.append(table(`${chart.name}${every > 1 ? ", some of its points" : ""}`, [chart.x.name, ...named.map((s) => s.name)], rows, { numeric: true }));
    }
    return details;
  }

  // table makes one whose first column names the rows. own are the rows to stress.
  function table(caption, head, rows, { numeric, right = [], own = [] } = {}) {
    const isRight = (i) => numeric || right.includes(i);
    const body = rows.map((row, n) => element("tr", { class: own.includes(n) ? "own" : undefined }, ...row.map((cell, i) => element(i ? "td" : "th", { scope: i ? undefined : "row", class: isRight(i) ? "numeric" : cell.length > 40 ? "long" : undefined }, cell))));
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...head.map((h, i) => element("th", { scope: "col", class: isRight(i) ? "numeric" : undefined }, h)))), element("tbody", {}, ...body)));
  }

  // picture is a chart as a file of its own, in the colors it is shown in.
  function picture(svg, chart) {
    const copy = svg.cloneNode(true);
    const properties = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-size", "visibility"];
    const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((e, i) => {
      const style = getComputedStyle(e);
      for (const p of properties) to[i].setAttribute(p, style.getPropertyValue(p));
      to[i].removeAttribute("class");
    });
    const [, , width, height] = svg.getAttribute("viewBox").split(" ");
    set(copy, { xmlns: svgSpace, width, height, "font-family": "system-ui, sans-serif" });
    copy.prepend(drawn("title", {}, chart.name), drawn("rect", { width, height, fill: getComputedStyle(document.documentElement).getPropertyValue("--card") }));
    return new XMLSerializer().serializeToString(copy);
  }

  function download(name, text, type) {
    const url = URL.createObjectURL(new Blob([text], { type }));
    const a = element("a", { href: url, download: name });
    document.body.append(a);
    a.click();
    a.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  return { plot, table, element, approximate, download };
})();

// portraits show what is proved of a file, on either page.
const portraits = (() => {
  const { plot, table } = charts;

  function density(target, p, others, quantity = "density") {
    const styles = { laplace: "c2", "discrete-laplace": "c2", staircase: "c3", "analytic-gaussian": "c4" };
    plot(target, {
      name: "Density of the noise", summary: `Density of the noise ${p.per}, from ${charts.approximate(p.left)} to ${charts.approximate(p.right)}, highest near 0.${p.atom > 0 ? ` Exactly 0 with probability ${charts.approximate(p.atom)}.` : ""}`,
      x: { name: "noise (query units)", short: "noise", low: p.left, high: p.right }, y: { name: `${quantity} (${p.per})`, zero: true, room: true }, atom: p.atom,
      series: [{ name: "this table", points: p.density, style: "c1", fill: true }, ...others.map((o) => ({ name: o.name, points: o.points, style: styles[o.name] || "c5" }))],
    });
  }

  // law draws the i-th law of the answers.
  function law(target, p, i) {
    const l = p.laws, labels = l.labels;
    plot(target, {
      name: `Law of the answers to ${l.values[i]}`, summary: `Probability of every answer to the value ${l.values[i]}.`,
      x: { name: labels ? "answer, by its number" : l.of, short: "answer", snap: true, label: labels ? (v) => labels[v] ?? "" : undefined }, y: { name: "probability", zero: true, room: true },
      here: labels ? undefined : l.at[i],
      series: [{ name: `answers to ${l.values[i]}`, bars: true, points: l.rows[i].map((mass, j) => [labels ? j : l.answers[j], mass]) }],
    });
  }

  function lossByValue(target, p) {
    plot(target, {
      name: "Expected error by value", summary: `Expected loss of the answer to every value; at most ${p.worst.text}.`,
      x: { name: p.laws.labels ? "category, by its number" : "value", short: "value", snap: true }, y: { name: "expected loss", zero: true, room: true },
      series: [{ name: "expected loss", style: "c1", points: p.laws.at.map((v, i) => [v, p.laws.losses[i]]) }],
    });
  }

  function quantiles(target, p) {
    plot(target, {
      name: "Errors by probability", summary: "Half-width of the interval of the true value against its probability.",
      x: { name: "probability (%)", short: "probability", snap: true }, y: { name: "largest error (query units)", zero: true, room: true },
      series: [{ name: "error at most", style: "c1", dots: true, points: p.intervals.map((i) => [100 * i.level, Math.max(-i.lower, i.upper), i.reach]) }],
    });
  }

  // interval writes one that is symmetric shorter.
  const interval = (i) => (i.lower === -i.upper ? `± ${i.reach}` : i.text);

  const intervals = (p) => table("The true value, relative to the released one, with at least this probability", ["probability", "true value"], p.intervals.map((i) => [`${charts.approximate(100 * i.level)} %`, interval(i)]), { right: [1] });

  const facts = (p) => table("Recomputed from the weights in exact arithmetic", ["claim", "value"], [...p.facts, ["expected loss", `${p.expected.text} or less`], ...(p.worst ? [["largest loss of a value", `${p.worst.text} or less`]] : []), ["lower bound", `${p.bound.text}`], ["gap", p.gap]]);

  return { density, law, lossByValue, quantiles, interval, intervals, facts };
})();
