// A lower bound of ε that climbs with the number of runs. The counts are draws of the package; see book/moving.py there.
"use strict";

(() => {
  const { WIDTH, LEFT, tag, text, scale, path, rows, columns, title, panel } = moving;
  const CONFIDENCE = 0.99, CLAIM = 1;

  const grouped = number => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");

  const logGamma = z => {
    let shift = 0;
    for (; z < 15; z++) shift -= Math.log(z); // Stirling's series is exact enough from 15 on
    const square = z * z;
    const series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / (1188 * square)) / square) / square) / square) / z;
    return shift + (z - 0.5) * Math.log(z) - z + 0.5 * Math.log(2 * Math.PI) + series;
  };

  // Continued fraction of the incomplete beta function, by Lentz's method; it converges for x below (a + 1) / (a + b + 2).
  const fraction = (x, a, b) => {
    let c = 1, d = 1 / (1 - ((a + b) * x) / (a + 1)), value = d;
    for (let m = 1; m < 10000; m++) {
      const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
      d = 1 / (1 + even * d);
      c = 1 + even / c;
      value *= d * c;
      const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
      d = 1 / (1 + odd * d);
      c = 1 + odd / c;
      value *= d * c;
      if (Math.abs(d * c - 1) < 1e-15) break;
    }
    return value;
  };

  const beta = (x, a, b) => {
    if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - beta(1 - x, b, a);
    const log = logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x);
    return (Math.exp(log) * fraction(x, a, b)) / a;
  };

  const betaInverse = (share, a, b) => {
    let low = 0, high = 1;
    for (let i = 0; i < 80; i++) {
      const half = (low + high) / 2;
      if (beta(half, a, b) < share) low = half; else high = half;
    }
    return (low + high) / 2;
  };

  // Clopper and Pearson's interval; it misses with probability alpha at most, half on each side.
  const interval = (successes, trials, alpha) => [
    successes === 0 ? 0 : betaInverse(alpha / 2, successes, trials - successes + 1),
    successes === trials ? 1 : betaInverse(1 - alpha / 2, successes + 1, trials - successes),
  ];

  // Two limits in each of two directions share what may err. The package's exact test of both counts shows more.
  const bound = (first, second, runs, confidence) => {
    const [p, q] = [first, second].map(count => interval(count, runs, (1 - confidence) / 2));
    return Math.max(0, Math.log(Math.max(p[0] / q[1], q[0] / p[1])));
  };

  moving.math.audit = { beta, interval, bound };

  const climbs = new WeakMap(); // of a page's data, so that a slider that moves waits for nothing

  const climb = data => {
    if (!climbs.has(data)) {
      const of = ({ first, second }) => data.runs.map((runs, i) => bound(first[i], second[i], runs, CONFIDENCE));
      climbs.set(data, { honest: of(data.honest), broken: of(data.broken) });
    }
    return climbs.get(data);
  };

  const side = (head, kind, data, bounds, last, ticks) => {
    const bottom = 165, x = scale(1, 5, LEFT, WIDTH - 20), y = scale(0, ticks.at(-1), bottom, 12);
    const points = bounds.slice(0, last + 1).map((value, i) => [x(Math.log10(data.runs[i])), y(value)]);
    const [atX, atY] = points.at(-1);
    const over = bounds[last] > CLAIM;
    const late = atX > WIDTH - 60; // no room on the right of the point
    return panel({
      head, height: 200,
      keys: [[`line ${kind}`, ["bound", "下界"]], ["dash", ["claim ε = 1", "声明 ε = 1"]]],
      alt: `${head[0]}: after ${data.runs[last]} runs the lower bound of ε is ${bounds[last].toFixed(2)}, ` +
        `${over ? "above" : "below"} the claim of 1.`,
    }, rows(ticks, y, String),
    columns([1, 2, 3, 4, 5], x, bottom, power => (power < 3 ? 10 ** power : `${10 ** (power - 3)}k`)),
    title("runs on each data set 运行次数", bottom),
    tag("line", { class: "dashed", x1: LEFT, x2: WIDTH - 6, y1: y(CLAIM), y2: y(CLAIM) }),
    tag("path", { class: `curve ${kind}`, d: path(points) }),
    tag("circle", { class: kind, cx: atX, cy: atY, r: 5 }),
    text(late ? atX : atX + 9, late ? atY + 20 : atY + 4, bounds[last].toFixed(2),
      { "text-anchor": late ? "middle" : "start", class: "strong" }));
  };

  moving.figures.audit = {
    plays: true,
    controls: [{
      words: ["Runs", "运行次数"], min: 0, max: 40, value: 40, text: value => grouped(Math.round(10 ** (1 + value / 10))),
    }],
    draw: ([last], data) => {
      const { honest, broken } = climb(data);
      const [low, high] = [honest, broken].map(bounds => bounds[last].toFixed(2));
      const caught = broken[last] > CLAIM;
      return {
        panels: [
          side(["Honest: noise on every count", "诚实：每个计数都加噪"], "a", data, honest, last, [0, 0.5, 1]),
          side(["Broken: no noise on empty leaves", "有缺陷：空叶不加噪"], "b", data, broken, last, [0, 2, 4, 6, 8, 10]),
        ],
        says: [
          `After ${grouped(data.runs[last])} runs: at least ${low} for the honest counter, which has ε = 1 and stays below it; at least ` +
          `${high} for the broken one, ${caught ? "above its claim: caught" : "not yet above its claim"}.`,
          `运行 ${grouped(data.runs[last])} 次后：诚实的计数器至少 ${low}（真值为 1）；有缺陷的至少 ${high}，${caught ? "超过声明，被发现" : "尚未超过声明"}。`,
        ],
      };
    },
  };
})();
