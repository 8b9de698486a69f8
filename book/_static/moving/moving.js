// What all figures that move share: SVG as text, axes, controls. Nothing here asks any host for anything.
"use strict";

window.moving = (() => {
  const WIDTH = 330; // of a panel: as much as a phone shows without making letters smaller
  const LEFT = 42; // where a vertical axis stands, with room for its numbers

  // Coordinates with two decimals: stored pictures do not depend on the last bits of a computer.
  const written = value => (typeof value === "number" ? String(Number(value.toFixed(2))) : value);

  const tag = (name, attributes, ...inside) => {
    const list = Object.entries(attributes).map(([key, value]) => ` ${key}="${written(value)}"`);
    return `<${name}${list.join("")}>${inside.flat(Infinity).join("")}</${name}>`;
  };

  const zh = text => `<span lang="zh">${text}</span>`;
  const both = ([english, chinese]) => `${english} ${zh(chinese)}`;
  const PLAY = `▶ Play ${zh("播放")}`;

  // A label in two languages, as it is or in a picture, with its Chinese words marked.
  const marked = (label, name = "span") => String(label).replace(/ ?[\u3000-\u9fff\uff00-\uffef]+/g, `<${name} lang="zh">$&</${name}>`);

  const text = (x, y, label, attributes = {}) => tag("text", { x, y, ...attributes }, marked(label, "tspan"));
  const middle = { "text-anchor": "middle" };
  const end = { "text-anchor": "end" };

  const scale = (from, to, start, stop) => value => start + ((value - from) / (to - from)) * (stop - start);

  const path = points => points.map(([x, y], i) => `${i ? "L" : "M"}${written(x)} ${written(y)}`).join("");

  // Steps through (x, y) that keep their height up to the next x; a step of no height is none.
  const steps = points => path(points.flatMap(([x, y], i) => {
    if (i === 0) return [[x, y]];
    const before = points[i - 1][1];
    return i === points.length - 1 ? [[x, before], [x, y]] : y === before ? [] : [[x, before], [x, y]];
  }));

  const rows = (ticks, y, format) => ticks.map(value => [
    tag("line", { class: "grid", x1: LEFT, x2: WIDTH - 6, y1: y(value), y2: y(value) }),
    text(LEFT - 4, y(value) + 4, format(value), end),
  ]);

  const columns = (ticks, x, bottom, format) => ticks.map(value => text(x(value), bottom + 17, format(value), middle));

  const title = (label, bottom) => text(WIDTH / 2, bottom + 31, label, { ...middle, class: "axis" });

  // A swatch and its words in two languages, above a panel.
  const key = (kind, words) => `<span class="key"><i class="${kind}"></i>${both(words)}</span>`;

  const panel = ({ head, keys = [], height, alt }, ...inside) => tag("div", { class: "moving-panel" },
    tag("p", { class: "moving-head" }, both(head)),
    keys.length ? tag("p", { class: "moving-keys" }, keys.map(([kind, words]) => key(kind, words)).join(" ")) : "",
    tag("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": alt }, inside));

  const figures = {};
  const math = {};

  const says = ({ says: [english, chinese] }) => `${english} ${zh(chinese)}`;

  const knob = (id, { words, min, max, step = 1, value, text }) =>
    `<p class="moving-control"><label for="${id}">${both(words)}</label>` +
    `<input type="range" id="${id}" min="${min}" max="${max}" step="${step}" value="${value}">` +
    `<output for="${id}" aria-live="off">${marked(text(value))}</output></p>`;

  const place = (name, { controls, plays }) => tag("div", { class: "moving-controls" },
    controls.map((control, i) => knob(`moving-${name}-${i}`, control)),
    plays ? `<button type="button">${PLAY}</button>` : "");

  // What a figure shows first, with room for its controls: the page of a reader without scripts, and of one whose
  // scripts have not run yet.
  const still = (name, data) => {
    const drawn = figures[name].draw(figures[name].controls.map(control => control.value), data);
    return `${place(name, figures[name])}\n<div class="moving-stage">${drawn.panels.join("")}</div>\n` +
      `<p class="moving-says" role="status">${says(drawn)}</p>\n`;
  };

  const slider = (holder, control, changed) => {
    const [, input, output] = holder.children;
    const told = () => {
      output.innerHTML = marked(control.text(Number(input.value)));
      input.setAttribute("aria-valuetext", output.textContent);
    };
    const set = value => { input.value = value; told(); changed(Number(input.value)); };
    input.addEventListener("input", () => set(input.value));
    told();
    return { input, set };
  };

  // Steps a slider to its end. Nothing moves by itself, and the button is hidden where a reader asks for less motion.
  const player = (button, { input, set }) => {
    let timer = null;
    const show = () => { button.innerHTML = timer ? `❚❚ Pause ${zh("暂停")}` : PLAY; };
    const stop = () => { clearInterval(timer); timer = null; show(); };
    const advance = () => (Number(input.value) < Number(input.max) ? set(Number(input.value) + 1) : stop());
    const start = () => {
      if (Number(input.value) === Number(input.max)) set(input.min);
      timer = setInterval(advance, 120);
      show();
    };
    button.addEventListener("click", () => (timer ? stop() : start()));
    input.addEventListener("input", () => timer && stop());
  };

  const mount = figure => {
    const name = figure.dataset.moving;
    const { controls, draw } = figures[name];
    const data = JSON.parse(figure.querySelector(".moving-data")?.textContent ?? "null");
    const values = controls.map(control => control.value);
    const show = () => {
      const drawn = draw(values, data);
      figure.querySelector(".moving-stage").innerHTML = drawn.panels.join("");
      figure.querySelector(".moving-says").innerHTML = says(drawn);
    };
    figure.querySelector(".moving-controls").outerHTML = place(name, figures[name]);
    const holders = figure.querySelectorAll(".moving-control"), button = figure.querySelector("button");
    const sliders = controls.map((control, i) => slider(holders[i], control, value => { values[i] = value; show(); }));
    if (button) player(button, sliders[0]);
    figure.classList.add("moving-on");
    show();
  };

  addEventListener("DOMContentLoaded", () => document.querySelectorAll("figure[data-moving]").forEach(mount));

  return { WIDTH, LEFT, tag, text, middle, end, scale, path, steps, rows, columns, title, panel, figures, math, still };
})();
