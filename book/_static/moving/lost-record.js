// A tree of one split that loses one person: with the purity rule, and with a fixed depth.
"use strict";

(() => {
  const { WIDTH, tag, text, middle, scale, steps, panel } = moving;
  const AGES = [24, 31, 35, 42, 47, 53, 58, 62, 66, 73], ILL = 9; // all are healthy but the last one
  const LOW = 16, HIGH = 80, EPSILON = 1; // half for the split, half for the counts of the leaves
  const LUCK = 0.86; // the same draw for all trees: where in its law the threshold falls

  const records = left => AGES.map((age, i) => ({ age, ill: i === ILL, i })).filter(({ i }) => i !== left);

  const larger = part => Math.max(part.filter(record => record.ill).length, part.filter(record => !record.ill).length);

  const isPure = kept => new Set(kept.map(record => record.ill)).size < 2;

  // The law of the threshold: on each interval between ages the density ∝ exp(rate · score), where the score is
  // the number of records that are in the larger class of their branch.
  const law = (kept, rate) => {
    const edges = [LOW, ...AGES, HIGH];
    const pieces = edges.slice(1).map((to, j) => {
      const [below, above] = [kept.filter(record => record.age <= edges[j]), kept.filter(record => record.age > edges[j])];
      return { from: edges[j], to, weight: Math.exp(rate * (larger(below) + larger(above) - kept.length)) };
    });
    const total = pieces.reduce((sum, { from, to, weight }) => sum + (to - from) * weight, 0);
    return pieces.map(piece => ({ ...piece, density: piece.weight / total }));
  };

  const quantile = (pieces, share) => {
    let left = share;
    for (const { from, to, density } of pieces) {
      if (left <= (to - from) * density) return from + left / density;
      left -= (to - from) * density;
    }
    return HIGH;
  };

  // The largest log-ratio of what is released with and without one record.
  const loss = (left, stopsWhenPure, epsilon) => {
    const [all, kept] = [records(-1), records(left)];
    if (all.length === kept.length) return 0;
    if (stopsWhenPure && isPure(all) !== isPure(kept)) return Infinity;
    const [first, second] = [all, kept].map(part => law(part, epsilon / 2));
    return Math.max(...first.map(({ density }, j) => Math.abs(Math.log(density / second[j].density)))) + epsilon / 2;
  };

  moving.math.lostRecord = { law, loss, quantile, records };

  const x = scale(LOW, HIGH, 14, WIDTH - 14);

  const people = left => AGES.map((age, i) => tag("circle", {
    class: `${i === ILL ? "b" : "hollow"}${i === left ? " gone" : ""}`, cx: x(age), cy: 18, r: 8,
  }));

  const curve = kept => {
    const pieces = law(kept, EPSILON / 2), y = scale(0, 0.05, 76, 36);
    const points = pieces.map(({ from, density }) => [x(from), y(density)]);
    const line = steps([...points, [x(HIGH), points.at(-1)[1]]]);
    return tag("path", { class: "area", d: `${line}L${x(HIGH)} 76L${x(LOW)} 76Z` });
  };

  const leaf = (at, part) => {
    const ill = part.filter(record => record.ill).length;
    return [
      tag("rect", { class: "leaf", x: at - 66, width: 132, y: 156, height: 30, rx: 6 }),
      tag("circle", { class: "hollow", cx: at - 54, cy: 171, r: 6 }),
      text(at - 45, 175, part.length - ill),
      tag("circle", { class: "b", cx: at - 24, cy: 171, r: 6 }),
      text(at - 15, 175, ill),
      text(at + 2, 175, "+ noise"),
    ];
  };

  const split = kept => {
    const cut = quantile(law(kept, EPSILON / 2), LUCK), root = WIDTH / 2;
    return [
      curve(kept),
      tag("line", { class: "cut", x1: x(cut), x2: x(cut), y1: 4, y2: 80 }),
      [84, WIDTH - 84].map(at => tag("line", { class: "branch", x1: root, x2: at, y1: 120, y2: 156 })),
      tag("rect", { class: "node", x: root - 56, width: 112, y: 94, height: 28, rx: 14 }),
      text(root, 113, `age ≤ ${Math.round(cut)} ?`, middle),
      leaf(84, kept.filter(record => record.age <= cut)), leaf(WIDTH - 84, kept.filter(record => record.age > cut)),
    ];
  };

  const lone = kept => [
    [84, WIDTH - 84].map(at => tag("line", { class: "branch gone", x1: WIDTH / 2, x2: at, y1: 120, y2: 156 })),
    [84, WIDTH - 84].map(at => tag("rect", { class: "leaf gone", x: at - 66, width: 132, y: 156, height: 30, rx: 6 })),
    tag("g", { transform: "translate(81 -63)" }, leaf(84, kept)),
    text(WIDTH / 2, 66, "no split 不分裂", { ...middle, class: "strong" }),
  ];

  const price = value => {
    const at = scale(0, 1.6, 14, WIDTH - 14), endless = value === Infinity;
    return [
      tag("rect", { class: endless ? "b" : "a", x: at(0), width: (endless ? WIDTH - 14 : at(value)) - at(0), y: 206, height: 16 }),
      tag("line", { class: "cut", x1: at(1), x2: at(1), y1: 200, y2: 228 }),
      text(at(0), 240, "privacy loss 隐私损失"),
      text(at(1), 240, "claim 声明 ε = 1", middle),
    ];
  };

  const side = (head, left, stopsWhenPure) => {
    const kept = records(left), value = loss(left, stopsWhenPure, EPSILON), gone = stopsWhenPure && isPure(kept);
    const told = value === Infinity ? "∞" : value.toFixed(2);
    return panel({
      head: [`${head[0]} · loss ${told}`, `${head[1]} · 损失 ${told}`],
      height: 250,
      alt: `${head[0]}: ${gone ? "a single leaf, no split" : "a split and two leaves"}; privacy loss ${value === Infinity ? "infinite" : told}.`,
    }, people(left), gone ? lone(kept) : split(kept), price(value));
  };

  const who = left => (left < 0 ? "nobody 无人" : `${AGES[left]}${left === ILL ? " (ill 患病)" : ""}`);

  const story = left => {
    if (left < 0) return ["All ten people are in the table, and both trees split.", "十个人都在表中，两棵树都分裂。"];
    const told = loss(left, false, EPSILON).toFixed(2);
    if (left !== ILL) return [
      `Without the person of ${AGES[left]} both trees still split, and nothing tells the two tables apart by more than ε = 1.`,
      `去掉 ${AGES[left]} 岁的人，两棵树仍然分裂；两张表的区别不超过 ε = 1。`,
    ];
    return [
      "Without the woman of 73 everybody is healthy, so the first tree stops at its root. Whether the clinic’s tree has a " +
      `split shows with certainty whether she is in the table. At a fixed depth the loss is only ${told}.`,
      `去掉 73 岁的她，其余的人都健康，第一棵树便停在根节点：诊所的树有没有分裂，就确切说明她在不在表中。深度固定时，损失只有 ${told}。`,
    ];
  };

  moving.figures["lost-record"] = {
    controls: [{
      words: ["Who leaves, by age", "谁离开"], min: 0, max: AGES.length, value: 1 + ILL, text: value => who(value - 1),
    }],
    draw: ([value]) => ({
      panels: [
        side(["Stop when pure, as written", "纯则停止（按原文）"], value - 1, true),
        side(["Fixed depth, repaired", "固定深度（修复后）"], value - 1, false),
      ],
      says: story(value - 1),
    }),
  };
})();
