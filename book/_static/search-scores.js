/* Pages whose titles have the words that a reader asks for come first, and appendices after the chapters. */
var Scorer = (() => {
  const stems = (text) => {
    const stemmer = new Stemmer();
    return splitQuery(text.toLowerCase()).map((word) => stemmer.stemWord(letterNames[word] ?? word));
  };
  const asked = () => stems(new URLSearchParams(location.search).get("q") ?? "");
  return {
    score: ([page, title, anchor, , score]) => {
      const words = asked(), said = new Set(stems(title.split(" > ").pop()));
      const found = words.filter((word) => said.has(word)).length;
      const whole = found > 0 && found === words.length;
      const titled = 10 * found / Math.max(words.length, 1) + (whole ? 20 / (1 + said.size - found) : 0);
      return score + titled + (anchor ? 0 : 5) - (page.includes("_appendix") ? 3 : 0);
    },
    // What Sphinx gives by itself.
    objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
    title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  };
})();
