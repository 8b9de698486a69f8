// How the budget of a path is shared over its levels, and what an early leaf gets.
"use strict";

(() => {
  const { WIDTH, tag, text, end, scale, panel } = moving;
  const LEVELS = 6;

  const WEIGHTS = {
    uniform: () => 1,
    geometric: level => 2 ** (level / 3),
    harmonic: (level, levels) => 1 / (levels - level),
  };

  const NAMES = { uniform: "uniform 均匀", geometric: "geometric 几何", harmonic: "harmonic 调和 (9)" };

  const shares = (levels, rule) => {
    const weights = Array.from({ length: levels }, (_, level) => WEIGHTS[rule](level, levels));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map(weight => weight / total);
  };

  // What the nodes of a path spend whose leaf is at level `leaf`, counted from 0; aligned, the leaf has all that is left.
  const spent = (levels, rule, leaf, aligned) => {
    const all = shares(levels, rule);
    const left = all.slice(leaf).reduce((sum, share) => sum + share, 0);
    return [...all.slice(0, leaf), aligned ? left : all[leaf]];
  };

  moving.math.pathBudget = { shares, spent };

  const total = parts => parts.reduce((sum, part) => sum + part, 0);

  const bar = (rule, row, leaf, aligned) => {
    const x = scale(0, 1, 10, WIDTH - 10), y = 26 + 66 * row, parts = spent(LEVELS, rule, leaf, aligned);
    let at = 0;
    const pieces = parts.map((part, level) => {
      const [from, to] = [x(at), x(at += part)];
      const own = level === leaf;
      return [
        tag("rect", { class: own ? "a piece" : "hollow piece", x: from, width: to - from, y, height: 26 }),
        to - from < 14 ? "" : text((from + to) / 2, y + 18, level + 1, { "text-anchor": "middle", class: own ? "on" : "" }),
      ];
    });
    const lost = 1 - at < 1e-9 ? "" : tag("rect", { class: "unspent", x: x(at), width: x(1) - x(at), y, height: 26 });
    return [
      text(10, y - 7, NAMES[rule]), text(WIDTH - 10, y - 7, `Σ = ${total(parts).toFixed(2)} ε`, end), lost, pieces,
    ];
  };

  const side = (head, leaf, aligned) => panel({
    head, height: 196,
    keys: [["hollow", ["splits", "分裂"]], ["a", ["leaf", "叶"]], ...(aligned ? [] : [["unspent", ["unspent", "未用"]]])],
    alt: `${head[0]}: three bars, the budget of a path by level under the uniform, geometric and harmonic rule; they add up to ` +
      `${Object.keys(WEIGHTS).map(rule => total(spent(LEVELS, rule, leaf, aligned)).toFixed(2)).join(", ")} ε.`,
  }, Object.keys(WEIGHTS).map((rule, row) => bar(rule, row, leaf, aligned)));

  moving.figures["path-budget"] = {
    controls: [{
      words: ["Level of the leaf", "叶所在层"], min: 1, max: LEVELS, value: 3, text: value => `${value} / ${LEVELS}`,
    }],
    draw: ([value]) => {
      const [plain, leaf] = [false, true].map(aligned => spent(LEVELS, "harmonic", value - 1, aligned));
      const numbers = [plain.at(-1), leaf.at(-1), 1 - total(plain)].map(part => Math.abs(part).toFixed(2));
      return {
        panels: [
          side(["Each level has its share", "各层各用其份"], value - 1, false),
          side(["Aligned: the leaf takes what is left", "对齐：叶用完剩余"], value - 1, true),
        ],
        says: [
          `A leaf at level ${value} of ${LEVELS}, harmonic rule: ${numbers[0]} ε by its share, which leaves ${numbers[2]} ε of the ` +
          `path unspent; ${numbers[1]} ε when aligned. The ledger's sum of an aligned path is ε at every level.`,
          `叶在第 ${value} 层（共 ${LEVELS} 层，调和规则）：按份额得 ${numbers[0]} ε，路径剩下 ${numbers[2]} ε 未用；对齐后得 ${numbers[1]} ε。对齐的路径在任何一层都恰好用完 ε。`,
        ],
      };
    },
  };
})();
