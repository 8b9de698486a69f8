/* The list of claims: a filter by paper, verdict and kind, which the address's hash keeps. Without it all is shown. */
(() => {
  const place = document.querySelector(".claim-filter");
  if (!place) return;

  const papers = [...document.querySelectorAll("details.paper")].map((fold) => {
    const section = fold.closest("section");
    return { fold, section, name: section.querySelector("h2").firstChild.textContent.trim(), id: section.id };
  });
  const claims = papers.flatMap((paper) =>
    [...paper.fold.querySelectorAll("details.claim")].map((row) => {
      const words = [...row.classList];
      const [verdict, kind] = words.slice(words.indexOf("claim") + 1);
      const said = row.querySelector(".sd-badge").textContent.trim();
      return { row, paper: paper.id, verdict, kind, names: { paper: paper.name, verdict: said, kind } };
    }),
  );
  const groups = ["paper", "verdict", "kind"];
  const chosen = {};

  const fits = (claim, but) => groups.every((g) => g === but || !chosen[g] || claim[g] === chosen[g]);

  /* Verdicts come in the order of the table above. */
  const order = [...document.querySelectorAll("thead .sd-badge")].map((badge) => badge.textContent.trim());

  const build = (group) => {
    const values = [...new Map(claims.map((claim) => [claim[group], claim.names[group]]))];
    if (group === "verdict") values.sort((a, b) => order.indexOf(a[1]) - order.indexOf(b[1]));
    const field = document.createElement("fieldset");
    field.append(Object.assign(document.createElement("legend"), { textContent: group }));
    for (const [value, name] of [["", "all"], ...values]) {
      const label = document.createElement("label");
      const radio = Object.assign(document.createElement("input"), { type: "radio", name: `claim-${group}`, value });
      radio.addEventListener("change", () => { chosen[group] = value; keep(); show(true); });
      label.append(radio, ` ${name} `, Object.assign(document.createElement("span"), { className: "count" }));
      field.append(label);
    }
    return field;
  };
  const status = document.createElement("p");
  status.setAttribute("role", "status");
  place.append(...groups.map(build), status);

  /* What is chosen goes into the address without a new entry in the history of the browser. */
  const keep = () => {
    const hash = new URLSearchParams(groups.filter((g) => chosen[g]).map((g) => [g, chosen[g]])).toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  };

  const show = (fold) => {
    const some = groups.some((group) => chosen[group]);
    for (const claim of claims) claim.row.hidden = !fits(claim);
    for (const paper of papers) {
      const left = claims.filter((claim) => claim.paper === paper.id && fits(claim)).length;
      paper.section.hidden = left === 0;
      if (fold) paper.fold.open = some;
    }
    for (const radio of place.querySelectorAll("input")) {
      const group = radio.name.slice("claim-".length);
      radio.checked = (chosen[group] || "") === radio.value;
      const n = claims.filter((c) => fits(c, group) && (!radio.value || c[group] === radio.value)).length;
      radio.parentElement.querySelector(".count").textContent = n;
      radio.parentElement.classList.toggle("none", n === 0);
    }
    const n = claims.filter((claim) => fits(claim)).length;
    status.textContent = `${n} of ${claims.length} claims`;
  };

  /* A hash is a filter, or the name of a claim or of a paper. */
  const follow = () => {
    const hash = decodeURIComponent(location.hash.slice(1));
    const asked = new URLSearchParams(hash);
    for (const group of groups) {
      const value = asked.get(group);
      chosen[group] = claims.some((claim) => claim[group] === value) ? value : "";
    }
    show(true);
    const target = hash && document.getElementById(hash);
    if (!target) return;
    for (let node = target; node; node = node.parentElement) if (node.matches("details")) node.open = true;
    target.querySelector("details.paper")?.setAttribute("open", "");
    target.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  follow();
})();
