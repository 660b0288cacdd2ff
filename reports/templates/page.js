"use strict";
// All that the page tells is in it without this script, which hides, sorts out and opens.
(() => {
  const LETTERS = { h: ["holds", "✓"], v: ["violated", "✗"], s: ["unsupported", "–"], u: ["unknown", "?"], e: ["error", "!"] };
  const form = document.querySelector(".controls");
  const main = document.querySelector("#matrix table");
  const columns = [...main.tHead.rows[1].cells].slice(1).map((cell) => ({ cell, name: cell.dataset.column, run: cell.dataset.run }));
  const families = [...main.tHead.rows[0].cells].slice(1).map((cell) => ({ cell, size: cell.colSpan }));
  const bodies = [...main.tBodies].map((body) => ({
    body,
    scenario: body.dataset.scenario,
    rows: [...body.rows].slice(1).map((row) => ({
      row,
      text: (row.cells[0].textContent + " " + body.rows[0].textContent + " " + body.dataset.scenario).toLowerCase(),
      cells: [...row.cells].slice(1),
      links: [...row.cells].slice(1).map((cell) => [...cell.querySelectorAll("a.v")]),
      changed: !!row.querySelector("small b"),
    })),
  }));
  const followers = [...document.querySelectorAll("table.follows")];
  const links = bodies.flatMap(({ rows }) => rows.flatMap((row) => row.links.flat()));
  for (const link of links) link.overall = link.className.slice(2);
  const names = [...new Set(columns.map((column) => column.name))];
  const fields = ["q", "scenario", "verdict", "perturbation"];
  let opened = null, from = null, theme = "system";

  // Evidence stands in <noscript>, so that a page of many runs opens at once; here it becomes part of the page, a guarantee
  // at a time, when it is asked for or the browser is idle.
  const waiting = new Set([...document.querySelectorAll("section.row")]);

  function unpack(section) {
    if (!waiting.delete(section)) return;
    const packed = section.querySelector("noscript");
    const template = document.createElement("template");
    template.innerHTML = packed.textContent;
    for (const code of template.content.querySelectorAll("code.copy")) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Copy";
      button.addEventListener("click", () => copy(code, button));
      code.after(" ", button);
    }
    packed.replaceWith(template.content);
  }

  function unpackWhenIdle() {
    const later = window.requestIdleCallback || ((work) => setTimeout(work, 50));
    later(() => {
      const [next] = waiting;
      if (!next) return;
      unpack(next);
      unpackWhenIdle();
    }, { timeout: 100 });
  }

  function element(id) {
    for (const section of waiting) {
      if (section.querySelector("noscript").textContent.includes(`id="${id}"`)) unpack(section);
    }
    return document.getElementById(id);
  }

  form.hidden = false;
  for (const { body } of bodies) {
    const title = body.rows[0].cells[0].firstElementChild;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = title.textContent;
    button.setAttribute("aria-expanded", "true");
    button.addEventListener("click", () => fold(body, !body.classList.contains("folded")));
    title.replaceChildren(button);
  }
  function fold(body, folded) {
    body.classList.toggle("folded", folded);
    body.querySelector("button").setAttribute("aria-expanded", String(!folded));
  }

  function copy(code, button) {
    const done = () => { button.textContent = "Copied"; };
    const select = () => {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    };
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, select);
    else select();
  }

  function asked() {
    const state = {};
    for (const name of fields) if (form.elements[name].value) state[name] = form.elements[name].value;
    const boxes = [...form.querySelectorAll("[name=engine]")];
    const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
    if (chosen.length < boxes.length) state.engines = chosen.join(",");
    for (const name of ["differ", "changed"]) if (form.elements[name]?.checked) state[name] = "1";
    return state;
  }

  // A condition on a row, for each word of the query.
  function conditions(query) {
    return query.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
      const [, engine, not, verdict] = word.match(/^(.+):(!?)(holds|violated|unsupported|unknown|error)$/) || [];
      if (!verdict) return (row) => row.text.includes(word);
      const fits = (link) => link.isConnected && link.now && (link.now === verdict) !== (not === "!");
      return (row, shown) => row.links.some((found, n) => (engine === "any" ? shown[n] : true) && found.some(
        (link) => (engine === "any" || link.dataset.e.toLowerCase() === engine || columns[n].name.toLowerCase() === engine) && fits(link)));
    });
  }

  function apply() {
    const state = asked();
    const place = state.perturbation ? [...form.elements.perturbation.options].findIndex((o) => o.value === state.perturbation) - 1 : -1;
    for (const link of links) {
      const found = place < 0 ? null : LETTERS[link.dataset.p[place]];
      link.now = place < 0 ? link.overall : found ? found[0] : "";
      const text = link.now ? `${Object.values(LETTERS).find(([word]) => word === link.now)[1]} ${link.now}` : "not asked";
      if (link.textContent !== text) {
        link.textContent = text;
        link.className = `v ${link.now || "none"}`;
      }
    }
    const chosen = state.engines === undefined ? null : new Set(state.engines.split(","));
    const shown = columns.map((column) => !chosen || chosen.has(column.name));
    columns.forEach((column, n) => { column.cell.hidden = !shown[n]; });
    let first = 0;
    for (const family of families) {
      const visible = shown.slice(first, first + family.size).filter(Boolean).length;
      family.cell.hidden = !visible;
      family.cell.colSpan = visible || 1;
      first += family.size;
    }
    const wanted = conditions(state.q || "");
    let count = 0, all = 0;
    for (const { body, scenario, rows } of bodies) {
      let any = false;
      for (const row of rows) {
        const words = new Set(row.links.flatMap((found, n) => (shown[n] ? found.map((link) => link.now) : [])));
        const keep = (!state.scenario || state.scenario === scenario)
          && (!state.verdict || words.has(state.verdict))
          && (!state.differ || (words.has("holds") && words.has("violated")))
          && (!state.changed || row.changed)
          && wanted.every((condition) => condition(row, shown));
        row.row.hidden = !keep;
        if (keep) row.cells.forEach((cell, n) => { cell.hidden = !shown[n]; });
        any ||= keep;
        count += keep;
        all += 1;
      }
      body.hidden = !any;
    }
    for (const table of followers) {
      const parent = table.closest("details");
      parent.hidden = !!state.scenario && parent.dataset.scenario !== state.scenario;
      for (const row of table.rows) [...row.cells].slice(1).forEach((cell, n) => { cell.hidden = !shown[n]; });
    }
    form.querySelector("output").textContent = `${count} of ${all} guarantees`;
  }

  function read() {
    const [anchor, query = ""] = decode(location.hash.slice(1));
    const state = new URLSearchParams(query);
    for (const name of fields) form.elements[name].value = state.get(name) || "";
    const engines = state.get("engines");
    for (const box of form.querySelectorAll("[name=engine]")) box.checked = engines === null || engines.split(",").includes(box.value);
    for (const name of ["differ", "changed"]) if (form.elements[name]) form.elements[name].checked = state.has(name);
    apply();
    show(anchor);
  }

  function decode(hash) {
    const cut = hash.indexOf("?");
    const anchor = cut < 0 ? hash : hash.slice(0, cut);
    try {
      return [decodeURIComponent(anchor), cut < 0 ? "" : hash.slice(cut + 1)];
    } catch {
      return ["", ""];
    }
  }

  function address(anchor) {
    const query = new URLSearchParams(asked()).toString();
    return `#${encodeURIComponent(anchor)}${query ? `?${query}` : ""}`;
  }

  function write() {
    history.replaceState(null, "", address(opened ? opened.id : ""));
  }

  function show(anchor) {
    const target = anchor && element(anchor);
    close();
    if (!target) return;
    for (let outer = target.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
    if (target.tagName !== "ARTICLE") return target.scrollIntoView();
    const panel = target.parentElement;
    opened = target;
    target.classList.add("open");
    target.tabIndex = -1;
    panel.classList.add("open");
    if (!panel.querySelector(".close")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "close";
      button.textContent = "Close ✕";
      button.addEventListener("click", leave);
      panel.prepend(button);
    }
    const pictures = target.querySelector(".pictures");
    if (pictures && !target.querySelector(".pictures > .legend")) {
      const legend = document.querySelector("#evidence > .pictures > svg").cloneNode(true);
      legend.classList.add("legend");
      pictures.append(legend);
    }
    target.focus({ preventScroll: true });
    requestAnimationFrame(() => { panel.scrollTop = 0; });
  }

  function close() {
    if (!opened) return;
    opened.classList.remove("open");
    opened.parentElement.classList.remove("open");
    opened = null;
  }

  function leave() {
    const back = opened && (from || links.find((link) => link.getAttribute("href") === `#${opened.id}`));
    close();
    write();
    if (back) back.focus();
  }

  function move(event) {
    const link = event.target.closest("a.v");
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!link || !step) return;
    const rows = bodies.filter(({ body }) => !body.hidden && !body.classList.contains("folded")).flatMap(({ rows }) => rows.filter(({ row }) => !row.hidden));
    const at = rows.findIndex(({ row }) => row.contains(link));
    const column = rows[at].links.findIndex((found) => found.includes(link));
    for (let x = column + step[0], y = at + step[1]; rows[y] && x >= 0 && x < columns.length; x += step[0], y += step[1]) {
      const next = columns[x].cell.hidden ? undefined : rows[y].links[x][0];
      if (!next) continue;
      event.preventDefault();
      return next.focus();
    }
  }

  form.addEventListener("input", () => { apply(); write(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => setTimeout(() => { apply(); write(); }));
  form.elements.fold.addEventListener("click", (event) => {
    const folded = event.target.textContent === "Fold all";
    for (const { body } of bodies) fold(body, folded);
    event.target.textContent = folded ? "Unfold all" : "Fold all";
  });
  form.elements.theme.addEventListener("click", (event) => {
    theme = { system: "dark", dark: "light", light: "system" }[theme];
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    event.target.textContent = `Theme: ${theme}`;
  });
  main.addEventListener("keydown", move);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && opened) leave(); });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    from = link.matches("a.v") ? link : null;
    const anchor = decode(link.getAttribute("href").slice(1))[0];
    history.pushState(null, "", address(anchor));
    show(anchor);
  });
  addEventListener("beforeprint", () => [...waiting].forEach(unpack));
  addEventListener("load", () => {
    if (opened) setTimeout(() => { if (opened) opened.parentElement.scrollTop = 0; });  // the browser scrolled to the cell itself
    unpackWhenIdle();
  });
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
  read();
})();
