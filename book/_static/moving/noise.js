// Noise on the counts of a leaf: two-sided geometric, with and without one record.
"use strict";

(() => {
  const { WIDTH, LEFT, tag, text, middle, scale, rows, columns, title, panel } = moving;
  const HEALTHY = 3, ILL = 5; // without you; with you there is one more of class ill

  const mass = (count, centre, epsilon) => Math.tanh(epsilon / 2) * Math.exp(-epsilon * Math.abs(count - centre));

  const atMost = (count, centre, epsilon) => {
    const q = Math.exp(-epsilon);
    return count < centre ? q ** (centre - count) / (1 + q) : 1 - q ** (count - centre + 1) / (1 + q);
  };

  // The chance that the noisy count of one class exceeds that of the other; beyond `far` the mass is below 1e-17.
  const exceeds = (larger, smaller, epsilon) => {
    const far = Math.ceil(40 / epsilon);
    let chance = 0;
    for (let k = larger - far; k <= larger + far; k++) chance += mass(k, larger, epsilon) * atMost(k - 1, smaller, epsilon);
    return chance;
  };

  // A bound is rounded up.
  const bound = epsilon => Math.ceil(100 * Math.exp(epsilon)) / 100;

  moving.math.noise = { mass, atMost, exceeds, bound };

  const laws = epsilon => {
    const first = -1, last = 12, bottom = 170;
    const x = scale(first - 0.5, last + 0.5, LEFT, WIDTH - 6);
    const most = Math.exp(epsilon) * Math.tanh(epsilon / 2);
    const top = Math.min(Math.max(most, 0.06), 1);
    const y = scale(0, top, bottom, 10);
    const wide = (x(1) - x(0)) * 0.34;
    const step = [0.01, 0.02, 0.05, 0.1].find(width => top / width <= 5) ?? 0.25;
    const ticks = Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, i) => Number((i * step).toFixed(2)));
    const bars = [];
    for (let k = first; k <= last; k++) {
      const without = mass(k, ILL, epsilon), own = mass(k, ILL + 1, epsilon);
      const [low, high] = [y(without * Math.exp(-epsilon)), y(Math.min(without * Math.exp(epsilon), top))];
      bars.push(
        tag("rect", { class: "band", x: x(k) - wide - 1, width: 2 * wide + 2, y: high, height: low - high }),
        tag("rect", { class: "hollow", x: x(k) - wide, width: wide, y: y(without), height: bottom - y(without) }),
        tag("rect", { class: "a", x: x(k), width: wide, y: y(own), height: bottom - y(own) }));
    }
    return panel({
      head: ["Released count of “ill”", "发布的患病人数"],
      keys: [["hollow", ["without you", "没有你"]], ["a", ["with you", "有你"]], ["band", ["band e^ε", "区间 e^ε"]]],
      height: 205,
      alt: "Bars: the probability of each released count with and without you, inside the band of a factor e to the ε.",
    }, rows(ticks, y, String), bars,
    columns([0, 2, 4, 6, 8, 10, 12], x, bottom, String), title("count + noise", bottom));
  };

  const answer = (without, own) => {
    const x = scale(0, 1, 12, WIDTH - 12);
    const bar = (y, kind, share) => [
      tag("rect", { class: kind, x: x(0), width: x(share) - x(0), y, height: 26 }),
      text(share > 0.5 ? x(share) - 5 : x(share) + 5, y + 18, `${(100 * share).toFixed(1)} %`,
        { "text-anchor": share > 0.5 ? "end" : "start", class: share > 0.5 && kind === "a" ? "on" : "" }),
    ];
    return panel({
      head: ["The leaf answers “ill”", "叶节点回答“患病”的概率"],
      keys: [["hollow", ["3 healthy, 5 ill", "无你：3 健康 5 患病"]], ["a", ["3 healthy, 6 ill", "有你：3 健康 6 患病"]]],
      height: 140,
      alt: "Two bars: the probability that the leaf answers ill without you and with you.",
    }, [0, 0.5, 1].map(share => tag("line", { class: "grid", x1: x(share), x2: x(share), y1: 8, y2: 100 })),
    bar(20, "hollow", without), bar(58, "a", own),
    [0, 0.5, 1].map(share => text(x(share), 116, `${100 * share} %`, share === 0 ? {} : share === 1 ? moving.end : middle)));
  };

  moving.figures.noise = {
    controls: [{
      words: ["Budget ε", "预算"], min: 1, max: 30, value: 10, text: value => `ε = ${(value / 10).toFixed(1)}`,
    }],
    draw: ([value]) => {
      const epsilon = value / 10;
      const [without, own] = [ILL, ILL + 1].map(ill => exceeds(ill, HEALTHY, epsilon));
      const ratio = (own / without).toFixed(2);
      return {
        panels: [laws(epsilon), answer(without, own)],
        says: [
          `At ε = ${epsilon.toFixed(1)} no released count is more than ${bound(epsilon).toFixed(2)} times as likely with you as without you; ` +
          `the answer “ill” is ${ratio} times as likely.`,
          `ε = ${epsilon.toFixed(1)} 时，任何发布的计数在有你与没有你时的概率至多相差 ${bound(epsilon).toFixed(2)} 倍；回答“患病”的概率相差 ${ratio} 倍。`,
        ],
      };
    },
  };
})();
