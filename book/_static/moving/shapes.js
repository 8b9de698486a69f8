// What the booster learns of one attribute, by ε. The shapes are fits of the package to the stand-in data.
"use strict";

(() => {
  const { WIDTH, LEFT, tag, scale, steps, rows, columns, title, panel } = moving;
  const mean = values => values.reduce((total, value) => total + value, 0) / values.length;

  // Shapes add to a score: where one of them begins says nothing, so each is taken around its mean.
  const centred = shape => {
    const middle = mean(shape);
    return shape.map(value => value - middle);
  };

  const distance = (shape, other) => {
    const [first, second] = [shape, other].map(centred);
    return Math.sqrt(mean(first.map((value, i) => (value - second[i]) ** 2)));
  };

  moving.math.shapes = { centred, distance };

  const curves = (data, at) => {
    const bottom = 170, x = scale(data.ages[0], data.ages.at(-1), LEFT, WIDTH - 8), y = scale(-2, 2, bottom, 8);
    const line = (shape, kind) => tag("path", {
      class: `curve ${kind}`, d: steps(centred(shape).map((value, i) => [x(data.ages[i]), y(Math.max(-2, Math.min(2, value)))])),
    });
    const [first, ...others] = data.shapes[at];
    return panel({
      head: ["What age adds to the score", "年龄对得分的贡献"],
      keys: [["line soft", ["without noise", "无噪声"]], ["line a", ["one fit", "一次训练"]], ["line a thin", ["others", "其余"]]],
      height: 205,
      alt: `Step curves over age: ${data.shapes[at].length} private fits at ε = ${data.epsilons[at]} around the fit without noise.`,
    }, rows([-2, -1, 0, 1, 2], y, String), columns([20, 40, 60, 80], x, bottom, String), title("age 年龄", bottom),
    line(data.without, "soft"), others.map(shape => line(shape, "a thin")), line(first, "a"));
  };

  const distances = (data, at) => {
    const bottom = 170, x = scale(-0.5, data.epsilons.length - 0.5, LEFT, WIDTH - 8), y = scale(0, 1.2, bottom, 8);
    const all = data.shapes.map(fits => fits.map(shape => distance(shape, data.without)));
    return panel({
      head: ["Distance from the shape without noise", "与无噪声形状的距离"],
      keys: [["dot a", ["a fit", "一次训练"]], ["line soft", ["mean", "平均"]]],
      height: 205,
      alt: `Dots: distance of each fit from the shape without noise, by ε; on average ${mean(all[at]).toFixed(2)} at ε = ${data.epsilons[at]}.`,
    }, rows([0, 0.4, 0.8, 1.2], y, String),
    tag("rect", { class: "band", x: x(at - 0.45), width: x(0.9) - x(0), y: 8, height: bottom - 8 }),
    all.map((values, i) => [
      tag("line", { class: "curve soft", x1: x(i - 0.3), x2: x(i + 0.3), y1: y(mean(values)), y2: y(mean(values)) }),
      values.map(value => tag("circle", { class: "a", cx: x(i), cy: y(Math.min(value, 1.2)), r: 3 })),
    ]),
    columns(data.epsilons.map((_, i) => i), x, bottom, i => data.epsilons[i]), title("ε", bottom));
  };

  // As many as the committed data have, see book/moving.py of the package.
  const EPSILONS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5];

  moving.figures.shapes = {
    controls: [{
      words: ["Budget ε", "预算"], min: 0, max: EPSILONS.length - 1, value: 4, text: value => `ε = ${EPSILONS[value]}`,
    }],
    draw: ([at], data) => {
      const far = mean(data.shapes[at].map(shape => distance(shape, data.without))).toFixed(2);
      return {
        panels: [curves(data, at), distances(data, at)],
        says: [
          `At ε = ${data.epsilons[at]} the fits are ${far} away from the shape without noise, on average of ${data.shapes[at].length}.`,
          `ε = ${data.epsilons[at]} 时，${data.shapes[at].length} 次训练与无噪声形状的平均距离为 ${far}。`,
        ],
      };
    },
  };
})();
