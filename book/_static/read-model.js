// Predictions of a released model from its document, which JSON.parse has read, and from a record, an object whose keys
// are the names of the attributes. What these functions cannot read is an Error, and never a wrong number.

// --- Values ---
const fail = (message) => {
  throw new Error(message);
};
const shown = (v) => String(JSON.stringify(v)).slice(0, 80);
const number = (v) => {
  if (typeof v !== "string") return v === null ? NaN : Number(v);
  const infinite = /^\s*([+-]?)inf(inity)?\s*$/i.exec(v);
  if (infinite) return Number(`${infinite[1]}Infinity`);
  return /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(v) ? Number(v) : NaN;
};
const spelling = (v) => {
  if (/^(true|false)$/i.test(v)) return String(v).toLowerCase();
  return Number.isNaN(number(v)) ? String(v).normalize("NFC") : number(v);
};
const alike = (v, w) => v === w || (typeof v !== "string" && typeof w !== "string" && Number(v) === Number(w));
const place = (levels, v) => {
  const spelt = levels.map(spelling);
  const twin = new Map([["true", 1], ["false", 0], [1, "true"], [0, "false"]]).get(spelling(v));
  const exact = levels.findIndex((w) => alike(w, v));
  const near = spelt.indexOf(spelling(v));
  return exact >= 0 ? exact : near >= 0 || twin === undefined ? near : spelt.indexOf(twin);
};
const code = (a, v, markers) => {
  const levels = [...a.categorical];
  const marks = markers.map(spelling).filter((m) => !levels.map(spelling).includes(m));
  if (a.unknown && !levels.includes("other")) levels.push("other");
  if (a.missing && !levels.includes("missing")) levels.push("missing");
  const gone = v === null || marks.includes(spelling(v));
  const found = gone ? -1 : place(levels, v);
  const instead = gone && a.missing ? "missing" : a.unknown ? "other" : a.missing ? "missing" : undefined;
  if (found < 0 && !instead) fail(`${a.name} is ${gone ? "missing" : shown(v)}, expected one of ${shown(levels)}`);
  return found < 0 ? levels.indexOf(instead) : found;
};

// --- Dates ---
const MONTHS = "January February March April May June July August September October November December".split(" ");
const SHORT = MONTHS.map((m) => m.slice(0, 3));
const [H, M] = ["(?:2[0-3]|[01]\\d)", "[0-5]\\d"];
const clock = (fraction) => `(?::${M}(?::${M}${fraction})?|${M}(?:${M}${fraction})?)`;
const TIME = `${H}${clock("(?:[.,]\\d+)?")}?(?:Z|[+-]${H}${clock("(?:[.,]\\d+)?")}?)?`;
const ISO = new RegExp(`^(\\d{4})(?:-(\\d\\d)-(\\d\\d)|(\\d\\d)(\\d\\d))(?:[T ]${TIME})?$`);
const day = (year, month, date) => {
  const found = new Date(0);
  found.setUTCFullYear(year, month - 1, date);
  const real = year > 0 && (month === 1 || found.getUTCMonth() === month - 1) && found.getUTCFullYear() < 10000;
  return real && date > 0 ? found.getTime() / 864e5 : NaN;
};
const isoDay = (text) => {
  const found = ISO.exec(text);
  return found ? day(+found[1], +(found[2] ?? found[4]), +(found[3] ?? found[5])) : NaN;
};
const anyCase = (text) => text.replace(/[a-z]/gi, (c) => `[${c.toLowerCase()}${c.toUpperCase()}]`);
const LOOSE = {
  Y: "(?<Y>\\d{4})", m: "(?<m>1[0-2]|0[1-9]|[1-9])", d: "(?<d>3[01]|[12]\\d|0[1-9]|[1-9]| [1-9])",
  j: "(?<j>36[0-6]|3[0-5]\\d|[12]\\d\\d|0[1-9]\\d|00[1-9]|[1-9]\\d|0[1-9]|[1-9])", f: "\\d{1,6}", "%": "%",
  H: "(?:2[0-3]|[01]\\d|\\d)", I: "(?:1[0-2]|0[1-9]|[1-9])", M: "(?:[0-5]\\d|\\d)", S: "(?:[0-5]\\d|\\d)",
  b: `(?<b>${anyCase(SHORT.join("|"))})`, B: `(?<B>${anyCase(MONTHS.join("|"))})`, p: anyCase("(?:AM|PM)"),
  z: `(?:Z|[+-]${H}${clock("(?:\\.\\d{1,6})?")})`,
};
const WHOLE = { // where numbers have nothing between them, everything is as strftime writes it
  Y: "(?<Y>[1-9]\\d{3})", m: "(?<m>1[0-2]|0[1-9])", d: "(?<d>3[01]|[12]\\d|0[1-9])", f: "\\d{6}", "%": "%",
  j: "(?<j>36[0-6]|3[0-5]\\d|[12]\\d\\d|0[1-9]\\d|00[1-9])", H, M, S: M, I: "(?:1[0-2]|0[1-9])",
  b: `(?<b>${SHORT.join("|")})`, B: `(?<B>${MONTHS.join("|")})`, p: "(?:AM|PM)", z: `(?!-0000)[+-]${H}${M}`,
};
const formatDay = (text, format) => {
  const codes = /%[dmYjHIMSf]%[dmYjHIMSf]/.test(format) ? WHOLE : LOOSE;
  const part = (all, c) => {
    if (c) return codes[c] ?? fail(`no dates are read in the format ${shown(format)}`);
    if (/\s/.test(all)) return codes === WHOLE ? all : "\\s+";
    return codes === LOOSE && /[a-z]/i.test(all) ? anyCase(all) : all.replace(/[$()*+.?[\\\]^{|}/]/, "\\$&");
  };
  const found = new RegExp(`^${format.replace(/%(.)|\s+|[^%\s]/gu, part)}$`, "u").exec(text)?.groups;
  if (!found) return NaN;
  const named = (found.b ?? found.B ?? "Jan").slice(0, 3).toLowerCase();
  const month = found.m ? +found.m : SHORT.findIndex((m) => m.toLowerCase() === named) + 1;
  return found.j ? day(+found.Y, 1, +found.j) : day(+found.Y, month, +found.d);
};

// --- Records ---
const measure = (a, v, markers) => {
  const isDate = typeof a.continuous[0] === "string";
  const date = (w) => (typeof w !== "string" ? NaN : a.format ? formatDay(w.trim(), a.format) : isoDay(w.trim()));
  const read = isDate ? date : number;
  const n = read(v);
  const gone = markers.some((m) => read(m) === n || (Number.isNaN(n) && spelling(m) === spelling(v)));
  if (gone || Number.isNaN(n)) {
    const what = isDate ? `a date such as ${a.format ?? "2001-12-31"}` : "a number";
    return a.missing ? -Infinity : fail(`${a.name} is ${gone || v === null ? "missing" : shown(v)}, expected ${what}`);
  }
  const [low, high] = a.continuous.map(isDate ? isoDay : Number);
  return Math.min(Math.max(n, low), high);
};
const encode = ({ domain }, record) =>
  domain.attributes.map((a) => {
    if (!Object.hasOwn(record, a.name)) fail(`the record lacks ${a.name}`);
    const v = Number.isNaN(record[a.name]) ? null : record[a.name];
    if (v !== null && !["string", "number", "boolean"].includes(typeof v)) fail(`${a.name} is a ${typeof v}`);
    const markers = domain.csv?.missing ?? [];
    if (a.categorical) return code(a, v, markers);
    return a.continuous ? measure(a, v, markers) : fail(`${a.name} is of an unknown kind`);
  });

// --- Models ---
const real = (n) => ({ nan: NaN, inf: Infinity, "-inf": -Infinity })[n] ?? n;
const score = ({ constant, blocks, table }, x) => {
  let [sum, start] = [constant, 0];
  for (const { axes } of blocks) {
    const bin = ({ attribute: a, cuts, size }) =>
      cuts.data.length || size === 1 ? cuts.data.map(real).filter((cut) => cut < x[a]).length : x[a];
    sum += real(table.data[start + axes.reduce((cell, axis) => cell * axis.size + bin(axis), 0)]);
    start += axes.reduce((cells, axis) => cells * axis.size, 1);
  }
  return sum;
};
const share = (parts) => parts.map((n) => n / parts.reduce((a, b) => a + b));
const softmax = (scores) => {
  if (scores.length === 1) scores.unshift(0); // of the first of two classes
  return share(scores.map((s) => Math.exp(s - Math.max(...scores))));
};
const leaf = ({ splits, first_child, value }, x) => {
  let node = 0;
  const row = ({ shape: [, width = 1], data }) => data.slice(node * width, (node + 1) * width).map(real);
  for (let kind; (kind = splits.kind.data[node]) >= 0; ) {
    const [v, cuts] = [x[splits.attribute.data[node]], row(splits.cut)];
    const branch = [() => v > cuts[0], () => v !== cuts[0], () => v, () => cuts.filter((cut) => cut < v).length];
    if (!branch[kind]) fail(`a split is of an unknown kind, ${kind}`);
    node = first_child.data[node] + Number(branch[kind]());
  }
  return row(value);
};
const vote = (counts, how) => {
  if (how === "majority") return counts.map((_, k) => Number(k === counts.indexOf(Math.max(...counts))));
  if (how !== "probability") fail(`its trees vote by ${how}, which is unknown`);
  const kept = counts.map((n) => Math.max(n, 0));
  return share(kept.some((n) => n > 0) ? kept : kept.map(() => 1));
};
const forest = ({ trees_, vote: how }, x) => {
  const votes = trees_.map((tree) => vote(leaf(tree, x), how));
  return share(votes.reduce((sum, one) => sum.map((n, k) => n + one[k])));
};

// The number that a regressor predicts, or the probabilities of the classes, in the order of document.domain.classes.
const predict = (document, record) => {
  const { format, version, estimator, domain, model } = document;
  if (format !== "dpnb model" || !(version >= 1)) fail("this is no document of a model");
  if (version > 3) fail(`version ${version}: take the functions of dpnb ${document.versions?.dpnb}, which wrote it`);
  const [name] = estimator.split(":").slice(-1); // version 1 had the module before it
  const x = encode(document, record);
  let found;
  if (name === "PrivateBoosterRegressor") {
    const [low, high] = domain.target.range;
    found = [low + ((Math.min(Math.max(score(model.models_[0], x), -1), 1) + 1) / 2) * (high - low)];
  } else if (["PrivateBooster", "LogisticRegression"].includes(name))
    found = softmax(model.models_.map((one) => score(one, x)));
  else if (model.trees_) found = forest(model, x);
  else fail(`models of ${name} are not read here`);
  if (found.length !== (domain.classes?.length ?? 1) || !found.every(Number.isFinite)) fail("the document is damaged");
  return domain.classes ? found : found[0];
};
