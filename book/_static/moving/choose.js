// What an ε allows an attacker, and what it costs the book's booster. The losses are of stored fits of the package.
"use strict";

(() => {
  const { WIDTH, LEFT, tag, text, end, scale, path, rows, columns, title, panel } = moving;
  const EPSILONS = [
    0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5,
  ];
  const RECORDS = [1000, 1200, 1500, 2000, 2500, 3000, 4000, 5000, 7000, 10000, 12000, 15000, 20000, 25000, 30000, 40000, 50000,
    70000, 100000, 200000, 500000, 1000000];
  const FEWEST = 4; // data sets that a median is taken of

  const belief = (before, epsilon) => 1 / (1 + ((1 - before) / before) * Math.exp(-epsilon));

  const moreRight = epsilon => 100 * belief(0.5, epsilon) - 50;

  // Between two measured points a straight line in ln(n·ε); beyond them nothing.
  const readOff = (curve, known) => {
    const i = curve.findIndex(([at]) => at >= known);
    if (i < 0 || known < curve[0][0]) return null;
    if (i === 0) return curve[0][1];
    const [[low, before], [high, after]] = [curve[i - 1], curve[i]];
    return before + ((after - before) * Math.log(known / low)) / Math.log(high / low);
  };

  const across = (sets, known) => {
    const found = Object.values(sets).map(curve => readOff(curve, known)).filter(loss => loss !== null);
    if (found.length < FEWEST) return null;
    found.sort((one, other) => one - other);
    const half = found.length / 2;
    const median = (found[Math.ceil(half) - 1] + found[Math.floor(half)]) / 2;
    return { median, least: found[0], most: found.at(-1), sets: found.length };
  };

  // With all records of the sets or with a thousand of each, whichever has more sets here.
  const withDelta = (data, known) => {
    const [whole, few] = [data.delta, data.few].map(sets => across(sets, known));
    return few && few.sets > (whole?.sets ?? 0) ? few : whole;
  };

  // A loss falls as n·ε grows: what enough sets lose at the nearest n·ε is the most, or the least, where they have no data.
  const bound = (sets, known) => {
    const ends = place => Object.values(sets).map(curve => curve.at(place)[0]).sort((one, other) => one - other);
    const [first, last] = [ends(0)[FEWEST - 1], ends(-1).at(-FEWEST)];
    return known > last ? { ...across(sets, last), last } : { ...across(sets, first), first };
  };
  const withDeltaAtMost = (data, known) => withDelta(data, known) ?? bound(data.delta, known);
  const pureAtMost = (data, known) => across(data.pure, known) ?? bound(data.pure, known);

  moving.math.choose = { belief, moreRight, readOff, across, withDelta, bound };

  const grouped = number => Math.round(number).toLocaleString("en").replaceAll(",", "\u202f");

  const logarithmic = (from, to, start, stop) => value =>
    scale(Math.log(from), Math.log(to), start, stop)(Math.log(value));

  const percent = share => `${(100 * share).toFixed(1)} %`;

  const gains = epsilon => {
    const x = scale(0, 1, 12, WIDTH - 12), more = moreRight(epsilon);
    const bar = (y, before) => {
      const after = belief(before, epsilon);
      return [
        text(12, y - 6, `${100 * before} % → ${percent(after)}`, { class: "strong" }),
        tag("rect", { class: "a", x: x(0), width: x(after) - x(0), y, height: 18 }),
        tag("rect", { class: "soft", x: x(0), width: x(before) - x(0), y, height: 18 }),
        tag("rect", { class: "hollow", x: x(0), width: x(1) - x(0), y, height: 18 }),
      ];
    };
    const kind = i => (i < 50 ? "soft" : i < Math.round(50 + more) ? "a" : "hollow");
    return panel({
      head: ["What an attacker gains at most, δ = 0", "攻击者至多得到什么（δ = 0）"],
      keys: [["soft", ["before", "之前"]], ["a", ["after, at most", "之后至多"]]],
      height: 216,
      alt: `Bars: a belief of 50 % and one of 1 % before and after. Dots: a hundred guesses, of which ${(50 + more).toFixed(1)} are right on average at most.`,
    }, bar(22, 0.5), bar(68, 0.01),
    text(12, 112, `100 guesses 猜测: ${(50 + more).toFixed(1)} right 正确`, { class: "strong" }),
    Array.from({ length: 100 }, (_, i) => tag("circle", {
      class: kind(i), cx: 20 + 15.2 * (i % 20), cy: 128 + 17 * Math.floor(i / 20), r: 5,
    })));
  };

  const told = found => (found.last ? "≤ " : found.first ? "≥ " : "") + found.median.toFixed(1);

  const costs = (data, known) => {
    const bottom = 182;
    const x = logarithmic(30, 300000, LEFT, WIDTH - 8), y = logarithmic(0.2, 50, bottom, 8);
    const places = Array.from({ length: 160 }, (_, i) => 30 * 10000 ** (i / 159));
    const line = (sets, kind) => {
      const points = places.map(at => [at, across(sets, at)]).filter(([, found]) => found);
      return tag("path", { class: `curve ${kind}`, d: path(points.map(([at, found]) => [x(at), y(found.median)])) });
    };
    const dots = (sets, kind) => tag("g", { class: `faint ${kind}` }, Object.values(sets).flatMap(curve =>
      curve.map(([at, loss]) => tag("circle", { cx: x(at), cy: y(loss), r: 2.2 }))));
    const range = (found, kind, at) =>
      tag("line", { class: `curve ${kind}`, x1: at, x2: at, y1: y(found.least), y2: y(found.most) });
    const [own, pure] = [withDeltaAtMost(data, known), pureAtMost(data, known)];
    const [left, right] = [x(own.last ?? known) - 4, x(pure.last ?? pure.first ?? known) + 4];
    const here = x(Math.min(known, 300000));
    return panel({
      head: ["What a model loses, in points of AUC", "模型损失多少 AUC（百分点）"],
      keys: [
        ["line a", ["with δ", "有 δ"]], ["dash b", ["without δ", "无 δ"]],
        ["line a thin", ["with δ, 1\u202f000 records", "有 δ，1\u202f000 条"]],
      ],
      height: 216,
      alt: `Curves: median loss by n·ε over eight data sets; at the chosen one ${told(own)} with δ and ${told(pure)} without.`,
    }, rows([0.2, 0.5, 1, 2, 5, 10, 20, 50], y, String),
    columns([100, 1000, 10000, 100000], x, bottom, grouped),
    title("n·ε", bottom),
    dots(data.few, "a"), dots(data.delta, "a"), dots(data.pure, "b"),
    line(data.few, "a thin"), line(data.delta, "a"), line(data.pure, "b dashed"),
    tag("line", { class: "dashed", x1: here, x2: here, y1: 8, y2: bottom }),
    range(own, "a", left), tag("circle", { class: "a", cx: left, cy: y(own.median), r: 5 }),
    range(pure, "b", right), tag("rect", { class: "b", x: right - 4.5, width: 9, y: y(pure.median) - 4.5, height: 9 }),
    text(WIDTH - 10, 22, `with δ 有: ${told(own)}`, { ...end, class: "strong above" }),
    text(WIDTH - 10, 40, `without δ 无: ${told(pure)}`, { ...end, class: "strong above" }));
  };

  const words = found => {
    const loss = found.median.toFixed(1), [least, most] = [found.least, found.most].map(x => x.toFixed(1));
    const [atMost, zhAtMost] = found.last ? ["at most ", "至多"] : found.first ? ["at least ", "至少"] : ["", ""];
    const end = found.last ?? found.first;
    const [where, zhWhere] = end ? [`, as at n·ε = ${grouped(end)}, where our data end`, `，即数据止处 n·ε = ${grouped(end)} 的值`] : ["", ""];
    return [`${atMost}${loss} points (${least} to ${most} on ${found.sets} data sets${where})`,
      `${zhAtMost} ${loss} 个百分点（${found.sets} 个数据集上 ${least} 至 ${most}${zhWhere}）`];
  };

  moving.figures.choose = {
    controls: [{
      words: ["Budget ε", "预算"], min: 0, max: EPSILONS.length - 1, value: EPSILONS.indexOf(1),
      text: value => `ε = ${EPSILONS[value]}`,
    }, {
      words: ["Records n", "记录数"], min: 0, max: RECORDS.length - 1, value: RECORDS.indexOf(10000),
      text: value => `n = ${grouped(RECORDS[value])}`,
    }],
    draw: ([first, second], data) => {
      const epsilon = EPSILONS[first], n = RECORDS[second], known = n * epsilon;
      const [even, rare] = [0.5, 0.01].map(before => percent(belief(before, epsilon)));
      const [own, pure] = [withDeltaAtMost(data, known), pureAtMost(data, known)].map(words);
      return {
        panels: [gains(epsilon), costs(data, known)],
        says: [
          `Without δ, at ε = ${epsilon} a belief of 50 % rises to ${even} at most, and one of 1 % to ${rare} at most. The booster’s loss ` +
          `of AUC with ${grouped(n)} records: with δ, ${own[0]}; without δ, ${pure[0]}.`,
          `无 δ、ε = ${epsilon} 时，50 % 的信念至多升到 ${even}，1 % 的至多升到 ${rare}。${grouped(n)} 条记录时提升模型的 AUC 损失：有 δ，${own[1]}；无 δ，${pure[1]}。`,
        ],
      };
    },
  };
})();
