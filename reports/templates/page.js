// The script hides, filters and opens, and makes what is packed part of the page.
(() => {
  // The lists of a move, by the kind of difference, in their order.
  const MOVES = {
    broken: "Held there, broken here",
    mended: "Broken there, holds here",
    both: "Broken on both, differently",
    apart: "Cannot be compared: decided on one, and not on the other",
  };
  const LETTERS = { h: ["holds", "✓"], v: ["violated", "✗"], s: ["unsupported", "–"], u: ["unknown", "?"], e: ["error", "!"] };
  // "1 case", "2 cases": of a number, or of a list's length.
  function amount(found, word) {
    const number = Array.isArray(found) ? found.length : Number(found);
    return `${number} ${word}${number === 1 ? "" : "s"}`;
  }

  const form = document.querySelector(".controls");
  const main = document.querySelector("#matrix table");
  const columns = [...[...main.tHead.rows[1].cells].slice(1), ...document.querySelectorAll("#operators li")]
    .map((cell) => ({ cell, name: cell.dataset.column, run: cell.dataset.run, key: cell.dataset.key }));
  const places = new Map(columns.map(({ key }, n) => [key, n]));
  const operators = [...document.querySelectorAll("table.operators")].map((table) => ({ table, keys: [...table.tHead.rows[0].cells].map((cell) => cell.dataset.key) }));
  const ofOperators = new Map();  // guarantee -> its rows in the tables of native operators, with the columns of their cells
  for (const { table, keys } of operators) {
    for (const row of table.tBodies[0].rows) ofOperators.set(row.dataset.r, { row, cells: [...row.cells].slice(1).map((cell, n) => [places.get(keys[n + 1]), cell]) });
  }
  const families = [...main.tHead.rows[0].cells].slice(1).map((cell) => ({ cell, size: cell.colSpan }));
  // What findings and advice say, for the rows that they are about.
  const indexed = [...document.querySelectorAll("#indexed li")].map((line) => line.textContent.toLowerCase());
  const bodies = [...main.tBodies].map((body) => ({
    body,
    scenario: body.dataset.scenario,
    rows: [...body.rows].slice(1).map((row) => {
      const beside = ofOperators.get(row.dataset.r);
      const cells = [...[...row.cells].slice(1).map((cell, n) => [n, cell]), ...(beside ? beside.cells : [])];
      const of = new Map(cells);
      return {
        row,
        beside: beside && beside.row,
        text: (row.cells[0].textContent + " " + body.rows[0].textContent + " " + body.dataset.scenario).toLowerCase(),
        told: (row.dataset.i || "").split(" ").map((n) => indexed[n] || "").join(" "),
        cells,
        links: columns.map((_, n) => (of.has(n) ? [...of.get(n).querySelectorAll("a")] : [])),
        changed: cells.some(([, cell]) => cell.querySelector("p b")),
      };
    }),
  }));
  const letters = document.getElementById("letters").textContent.split(" ");
  // The grades of evidence, by their marks, the weakest first.
  const grades = new Map([...document.querySelectorAll("#grades li")].map((line, rank) => [line.dataset.mark, { rank, word: line.dataset.word, mark: line.dataset.mark, name: line.textContent, meaning: line.title }]));
  const WEAK = ["pack", "part", "few"];
  const links = bodies.flatMap(({ rows }) => rows.flatMap((row) => row.links.flat()));
  for (const { rows } of bodies) for (const row of rows) row.links.forEach((all, n) => all.forEach((link) => { link.dataset.e ||= columns[n].name; }));
  for (const link of links) {
    if (link.id) {  // without a script, the cell is all that there is to lead to
      link.href = `#${link.id}`;
      link.removeAttribute("id");
    }
    [link.overall, link.whole] = [link.className, link.textContent];
    link.className = `v ${link.overall}`;
    const mark = link.nextElementSibling;
    link.grade = mark && mark.matches("i") ? grades.get(mark.textContent) : null;
    if (link.grade) {
      const beside = mark.nextElementSibling?.matches("p") ? mark.nextElementSibling.firstChild.textContent.trim() : "";
      const [exercised, promised = exercised] = (mark.dataset.k || "").split("/");
      link.behind = [promised && `${exercised} of ${amount(promised, "perturbation")}`, beside.replace(/^(\d+ of )(\d+)/, (_, of, all) => of + amount(all, "perturbation")).replace(/(\d+)\/(\d+)$/, (_, bad, all) => `${bad} of ${amount(all, "case")} against it`).replace(/(^|, )(\d+)$/, (_, begun, all) => begun + amount(all, "case"))].filter(Boolean).join(", ");
      const [, part, all] = link.behind.match(/^(\d+) of (\d+)/) || [];
      if (link.grade.word === "part" && all) link.style.setProperty("--share", `${100 * part / all}%`);
      mark.title = `${link.grade.name}: ${link.behind}`;
    }
  }
  const fields = ["q", "scenario", "verdict", "perturbation"];
  const boxes = ["differ", "changed", "weakest"];
  const moving = document.querySelector(".moves");
  let sides = null, wanted = new URLSearchParams();
  let opened = null, from = null, theme = "system";

  // What is large stands compressed at the end of the page. It becomes part of the page piece by piece: on request, or when the browser is
  // idle. Where the browser cannot decompress it, the text for browsers without JavaScript takes its place.
  const waiting = new Map();

  // The bytes of what reports/pages.py has as "in_base_85".
  function bytesOf(text) {
    const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=>?@^_`{|}~";
    const value = Object.fromEntries([...digits].map((digit, at) => [digit, at]));
    const [number, chars] = text.split(" ");
    const view = new DataView(new ArrayBuffer(chars.length / 5 * 4));
    for (let word = 0, at = 0; at < chars.length; word = at % 5 ? word : 0) {
      word = word * 85 + value[chars[at]];
      if (++at % 5 === 0) view.setUint32(at / 5 * 4 - 4, word);
    }
    return view.buffer.slice(0, Number(number));
  }

  async function packed(id) {
    const bytes = bytesOf(document.getElementById(id).content.textContent);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  let markup = [];

  async function wait() {
    foldEvidence();
    const places = [...document.querySelectorAll("[data-part]")];
    packed("moves").then(offerMoves, () => {});
    const [lines, parts] = await packed("parts").catch(() => [[], []]);
    markup = parts.map((runs) => runs.flatMap((first, at) => (at % 2 ? [] : lines.slice(first, first + runs[at + 1]))).join("\n"));
    for (const place of places) waiting.set(place, markup[place.dataset.part] ?? place.querySelector("noscript")?.textContent ?? "");
    for (const place of places) if (place.open) unpack(place);
    if (!opened) show(decode(location.hash.slice(1))[0]);
    unpackWhenIdle();
  }

  function unpack(place) {
    if (!waiting.has(place)) return;
    const template = document.createElement("template");
    template.innerHTML = waiting.get(place);
    waiting.delete(place);
    for (const link of template.content.querySelectorAll("a[data-same]")) {
      const same = template.content.getElementById(link.getAttribute("href").slice(1)).querySelector(".witness");
      link.parentElement.replaceWith(same.cloneNode(true));
    }
    for (const link of template.content.querySelectorAll("a[data-picture]")) {
      const same = template.content.getElementById(link.getAttribute("href").slice(1))?.querySelector(".pictures");
      if (same) link.parentElement.after(same.cloneNode(true));
    }
    for (const code of template.content.querySelectorAll("code.copy, pre.file")) {
      const made = button("Copy", () => copy(code, made));
      if (code.matches("pre")) code.before(made, " ", button("Download", () => save(code)));
      else code.after(" ", made);
    }
    for (const part of template.content.querySelectorAll("details[data-part]")) waiting.set(part, markup[part.dataset.part] ?? "");
    place.querySelector("noscript")?.remove();
    place.append(template.content);
    if (place.matches("[data-scenario]")) follow(form.elements.scenario.value);
  }

  function unpackWhenIdle() {
    const later = window.requestIdleCallback || ((work) => setTimeout(work, 50));
    later(() => {
      const next = [...waiting.keys()].find((place) => !place.matches(".export"));  // a file waits until somebody opens it
      if (!next) return;
      unpack(next);
      unpackWhenIdle();
    }, { timeout: 100 });
  }

  function element(id) {
    const spelled = [`id="${id}"`, `id=${id} `, `id=${id}>`];
    for (const [place, markup] of [...waiting]) if (spelled.some((each) => markup.includes(each))) unpack(place);
    return document.getElementById(id);
  }

  for (const square of document.querySelectorAll(".map td a")) square.title = square.getAttribute("aria-label");
  form.hidden = false;
  const foldedFirst = bodies.some(({ body }) => body.classList.contains("folded"));  // then a link of the overview opens a scenario
  for (const { body } of bodies) {
    const title = body.rows[0].querySelector("span");
    const made = button(title.textContent, () => {
      fold(body, !body.classList.contains("folded"));
      write();
    });
    made.setAttribute("aria-expanded", "true");
    title.replaceChildren(made);
  }

  // A guarantee of the evidence shows its heading until somebody unfolds it, or opens one of its cells.
  function foldEvidence() {
    for (const panel of document.querySelectorAll("section.row")) {
      const title = panel.querySelector("h3");
      title.replaceChildren(button(title.textContent, () => {
        unpack(panel);
        unfold(panel, !panel.classList.contains("unfolded"));
      }));
      unfold(panel, false);
    }
  }

  function unfold(panel, shown) {
    panel.classList.toggle("unfolded", shown);
    panel.querySelector("h3 button").setAttribute("aria-expanded", String(shown));
  }

  function button(text, work) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", work);
    return made;
  }

  function fold(body, folded) {
    body.classList.toggle("folded", folded);
    body.querySelector("button").setAttribute("aria-expanded", String(!folded));
    const all = bodies.every((other) => other.body.classList.contains("folded"));
    form.elements.fold.textContent = all ? "Unfold all" : "Fold all";
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

  function save(code) {
    const link = document.createElement("a");
    link.download = code.dataset.name;
    link.href = URL.createObjectURL(new Blob([code.textContent], { type: "text/x-python" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function asked() {
    const state = new URLSearchParams();
    for (const name of fields) if (form.elements[name].value) state.set(name, form.elements[name].value);
    const engines = [...form.querySelectorAll("[name=engine]")];
    if (engines.some((box) => !box.checked)) for (const box of engines) if (box.checked) state.append("engine", box.value);
    if (engines.every((box) => !box.checked)) state.append("engine", "");
    for (const name of ["from", "to"]) if (sides ? sideOf(name) : wanted.get(name)) state.set(name, sides ? sideOf(name).key : wanted.get(name));
    for (const name of boxes) if (form.elements[name]?.checked) state.set(name, "1");
    const folded = bodies.filter(({ body }) => body.classList.contains("folded"));
    const [word, other] = foldedFirst ? ["open", bodies.filter(({ body }) => !body.classList.contains("folded"))] : ["fold", folded];
    if (other.length === bodies.length) state.set(word, "*");
    else for (const { scenario } of other) state.append(word, scenario);
    if (theme !== "system") state.set("theme", theme);
    return state;
  }

  // The names of an engine in a query: its own, its column's, its family's, and its column's with a version or a run.
  const called = columns.map(({ cell, name, run }) => {
    const label = (cell.querySelector("small")?.textContent || "").split(" ");
    const all = [name, name.split(/[-:]/)[0], name.split(":")[0], `${name}@${Number(run) + 1}`, ...label.map((part) => `${name}@${part}`)];
    return new Set(all.map((text) => text.toLowerCase()));
  });
  const known = new Set([...called.flatMap((all) => [...all]), ...links.map((link) => link.dataset.e.toLowerCase()), "any"]);

  const verdicts = [...Object.values(LETTERS).map(([name]) => name), "in-part"];
  const versions = columns.map(({ cell }) => (cell.querySelector("small")?.textContent || "").split(" ")[0]);

  // What engines are called, without what words are written with.
  const squeezed = (text) => text.toLowerCase().replace(/[^a-z0-9]/g, "");
  const knownAs = new Map([...document.querySelectorAll("#known-as li")].map((line) => [line.dataset.e, squeezed(line.dataset.e) + squeezed(line.textContent)]));

  const entitled = (text) => (squeezed(text) ? [...knownAs].filter(([, title]) => title.includes(squeezed(text))).map(([name]) => name) : []);

  const everyRow = bodies.flatMap(({ rows }) => rows);
  const begins = (text, word) => ` ${text}`.includes(` ${word}`);

  // What a plain word finds: which rows fit, and the other words for the same thing that the page has. A word in quotes
  // is only that word.
  function meaning(text) {
    const plain = text.replaceAll('"', "");
    const long = plain.length > 2;
    const named = long ? entitled(plain) : [];
    const ticket = long && /\d/.test(plain) ? squeezed(plain) : "";
    const says = (row) => row.text.includes(plain) || (long && row.told.includes(plain)) || (ticket && squeezed(row.told).includes(ticket));
    const only = text.startsWith('"') && !plain.includes(" ");
    const others = only ? [] : alike(plain).filter((word) => !word.includes(plain) && everyRow.some((row) => begins(row.text, word)));
    const decided = (link) => named.includes(link.dataset.e) && link.now && link.now !== "unsupported";
    return {
      others,
      found: named.length || others.length || everyRow.some(says),
      fits: (row, shown) => says(row) || others.some((word) => begins(row.text, word)) || row.links.some((all, n) => shown[n] && all.some(decided)),
    };
  }

  // The term with hits that is nearest to one without, as an offer; "" where none is near.
  function nearest(text) {
    const [, head, rest] = text.match(/^([^:]*:)(.*)$/) || ["", text, ""];
    const page = [...everyRow.map((row) => `${row.text} ${row.told}`), ...[...document.querySelectorAll("#known-as li")].map((line) => line.textContent.toLowerCase())];
    const terms = rest ? ["strength:", "grade:", "finding:", "any:"] : new Set([...page.join(" ").match(/[a-z][a-z0-9-]{3,}/g), ...SYNONYMS.flat()]);
    const near = [...terms].map((word) => [edits(head, word), word]).filter(([distance]) => distance <= head.length / 3).sort(([one], [other]) => one - other);
    const [, term] = near.find(([, word]) => rest || meaning(word).found) || [];
    return term ? `; did you mean ${term}${rest}?` : "";
  }

  // How many letters to put, drop or change make one word of another.
  function edits(one, other) {
    if (Math.abs(one.length - other.length) > 3) return Infinity;
    let row = [...other, ""].map((_, n) => n);
    [...one].forEach((letter, n) => {
      const next = [n + 1];
      [...other].forEach((its, m) => next.push(Math.min(row[m + 1] + 1, next[m] + 1, row[m] + (letter !== its))));
      row = next;
    });
    return row[other.length];
  }

  // The fewest cases under one promised perturbation, which the mark beside a link tells.
  const strength = (link) => Number(link.nextElementSibling?.dataset.n || 0);

  // Whether a version of a column is that of the query, or one of its patches.
  const isOf = (version, wanted) => version === wanted || version.startsWith(`${wanted}.`);

  // The condition on a row that a query makes, what is to be said of the query, its plain words with the rows that fit
  // each, and whether cells are to be counted.
  function conditions(query) {
    const { tree, wrong } = parseQuery(query);
    const words = [];
    let counted = false;
    const any = (row, shown, fits) => row.links.some((all, n) => shown[n] && all.some((link) => fits(link, n)));

    function word(text) {
      if (text === "count") {
        counted = true;
        return () => true;
      }
      const [, sign, least] = text.match(/^strength:([<>]?)(\d+)$/) || [];
      if (least) return (row, shown) => any(row, shown, (link) => link.now === "holds"
        && (sign === "<" ? strength(link) < least : sign ? strength(link) > least : strength(link) === Number(least)));
      const [, grade] = text.match(/^grade:(.*)$/) || [];
      if (grade !== undefined) {
        const words = grade === "weak" ? WEAK : [grade];
        const known = [...grades.values()].map((each) => each.word);
        if (!words.every((each) => known.includes(each))) wrong.push(`no grade is called ${grade}: ${known.join(", ")}, weak`);
        return (row, shown) => any(row, shown, (link) => link.grade && words.includes(link.grade.word));
      }
      const [, finding] = text.match(/^finding:(\d+)$/) || [];
      if (finding) {
        const shows = (link) => (link.dataset.f || "").split(" ").includes(finding);
        if (!links.some(shows)) wrong.push(`no cell here shows finding ${finding}`);
        return (row, shown) => any(row, shown, shows);
      }
      const [, engine = "any", not, verdict] = text.match(/^(?:([^"]*):)?(!?)([a-z-]+)$/) || [];
      const colon = text.includes(":") && !text.startsWith('"');
      if (!verdict || !(colon || not)) {
        const { found, others, fits } = meaning(text);
        if (!found) wrong.push(`${text} is in no claim, scenario, engine or finding${nearest(text.replaceAll('"', ""))}`);
        if (others.length) wrong.push(`for ${text} also ${others.join(", ")}`);
        words.push([text, fits]);
        return fits;
      }
      const titled = known.has(engine) ? [] : entitled(engine);
      if (!verdicts.includes(verdict)) wrong.push(`no verdict is called ${verdict}`);
      else if (!known.has(engine) && !titled.length) wrong.push(`no engine is called ${engine}`);
      const fits = (link) => link.now && (link.now === verdict) !== (not === "!");
      return (row, shown) => row.links.some((all, n) => (engine === "any" ? shown[n] : true) && all.some(
        (link) => (engine === "any" || called[n].has(engine) || link.dataset.e.toLowerCase() === engine || titled.includes(link.dataset.e)) && fits(link)));
    }

    function cell(words) {
      if (!links.some((link) => link.dataset.w)) wrong.push("was, now and since compare runs, and this page has one");
      const fitting = words.map((text) => {
        const [, asked, value] = text.match(/^(was|now|since):(.*)$/);
        if (asked === "since") {
          if (!versions.some((version) => isOf(version, value))) wrong.push(`no column has the version ${value}`);
          return (link, n) => isOf(versions[n], value) && link.dataset.w && link.dataset.w !== link.overall;
        }
        if (!verdicts.includes(value)) wrong.push(`no verdict is called ${value}`);
        const fits = (stands) => stands === value || (value === "holds" && stands === "in-part");
        return (link) => link.dataset.w && fits(asked === "was" ? link.dataset.w : link.now);
      });
      return (row, shown) => any(row, shown, (link, n) => fitting.every((fits) => fits(link, n)));
    }

    function made([kind, ...parts]) {
      if (kind === "word") return word(parts[0]);
      if (kind === "cell") return cell(parts);
      const inner = parts.map(made);
      if (kind === "not") return (row, shown) => !inner[0](row, shown);
      if (kind === "or") return (row, shown) => inner.some((fits) => fits(row, shown));
      return (row, shown) => inner.every((fits) => fits(row, shown));
    }

    return { fits: made(tree), wrong, words, counted: () => counted };
  }

  // The chooser of a move offers the releases of an API, and the sides are compared as soon as there are two.
  function offerMoves(data) {
    sides = data;
    moving.hidden = false;
    readMove();
  }

  const sideOf = (name) => sides.sides.find(({ key }) => key === moving.elements[`${name}-release`].value);

  function offerReleases(name, key = "") {
    const there = sides.sides.filter(({ engine }) => engine === moving.elements[name].value);
    const choice = moving.elements[`${name}-release`];
    choice.replaceChildren(...there.map((side) => new Option(side.release, side.key, false, side.key === key)));
    choice.parentElement.hidden = !there.length;
  }

  function readMove() {
    if (!sides) return;
    for (const name of ["from", "to"]) {
      const side = sides.sides.find(({ key }) => key === wanted.get(name));
      moving.elements[name].value = side ? side.engine : "";
      offerReleases(name, side && side.key);
    }
    tellMove();
  }

  const inWords = (name) => `${moving.elements[name].selectedOptions[0].textContent} ${sideOf(name).release.split(",")[0]}`;

  // What differs between the two sides of a move, why, and what to do: first what breaks. Each cause stands once in a list.
  function tellMove() {
    const place = document.getElementById("move");
    const [old, other] = ["from", "to"].map(sideOf);
    place.hidden = !(old && other && old !== other);
    if (place.hidden) return place.replaceChildren();
    const found = compareSides(sides, old, other);
    const title = make("h3", `From ${inWords("from")} to ${inWords("to")}: ${amount(found.broken, "guarantee")} ${found.broken.length === 1 ? "breaks" : "break"}`);
    const stays = make("p", `${found.held} hold on both as far as both were asked, ${found.alike} are broken alike on both. Only perturbations that both decided are compared; ${amount(found.open, "guarantee")} had none.`);
    stays.className = "faint";
    const parts = Object.entries(MOVES).filter(([kind]) => found[kind].length).map(([kind, words]) => {
      const part = make("details");
      const groups = new Map();
      for (const line of found[kind]) {
        const cause = kind === "apart" ? line.why : kind === "mended" ? old.advice[line.row] : other.advice[line.row] ?? (kind === "both" ? old.advice[line.row] : undefined);
        groups.set(cause, [...(groups.get(cause) || []), line]);
      }
      const causes = [...groups.keys()].filter((cause) => Number.isInteger(cause)).length;
      part.append(make("summary", `${words}: ${amount(found[kind], "guarantee")}${causes ? `, ${amount(causes, "known cause")}` : ""}`));
      for (const [cause, lines] of [...groups].sort(([one, mine], [two, its]) => (one === undefined) - (two === undefined) || its.length - mine.length)) {
        const group = make("section");
        const [name, advice] = Number.isInteger(cause) ? sides.advice[cause] : [cause || "Without a known cause", ""];
        group.append(make("h4", `${name}: ${amount(lines, "guarantee")}`));
        if (advice) group.append(make("p", `What to do: ${advice}`));
        const list = make("ul");
        list.append(...lines.map((line) => moveLine(line, [other, old])));
        group.append(list);
        part.append(group);
      }
      part.open = kind === "broken";
      return part;
    });
    return place.replaceChildren(title, stays, ...parts);
  }

  function make(tag, text = "") {
    const element = document.createElement(tag);
    element.textContent = text;
    return element;
  }

  function moveLine({ row, names, how }, sidesOfMove) {
    const line = make("li");
    const [scenario, claim, anchor] = sides.rows[row];
    const where = sidesOfMove.map((side) => side.links[row]).find(Boolean) || anchor;
    const lead = where ? make("a", `${scenario}: ${claim}`) : make("span", `${scenario}: ${claim}`);
    if (where) lead.href = `#${where}`;
    const few = names.slice(0, 3).map((n) => sides.perturbations[n]).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
    const more = make("small", [`under ${few}`, ...how.slice(0, 2).map((way) => way.replaceAll("#", "…"))].join("; "));
    line.dataset.row = row;
    line.append(lead, more);
    return line;
  }

  // The cells that the matrix shows, the weakest evidence first.
  const WEAKEST = 200;
  function tellWeakest(on, kept, shown) {
    const place = document.getElementById("weakest");
    place.hidden = !on;
    main.parentElement.hidden = on;
    if (!on) return place.replaceChildren();
    const share = (link) => (link.grade.word === "part" ? Number(link.behind.match(/^(\d+) of/)?.[1] || 0) / Number(link.behind.match(/of (\d+)/)?.[1] || 1) : strength(link));
    const cells = kept.flatMap((row) => row.links.filter((found, n) => shown[n]).flat().filter((link) => link.grade).map((link) => [link, row]));
    cells.sort(([one], [other]) => one.grade.rank - other.grade.rank || share(one) - share(other));
    const table = make("table");
    table.className = "matrix weakest";
    table.append(make("caption", `${amount(cells, "cell")} with evidence, the weakest first${cells.length > WEAKEST ? `; the first ${WEAKEST} of them` : ""}.`));
    table.createTHead().insertRow().append(...["grade", "rests on", "engine", "stands", "guarantee"].map((text) => Object.assign(make("th", text), { scope: "col" })));
    const body = table.createTBody();
    for (const [link, row] of cells.slice(0, WEAKEST)) {
      const line = body.insertRow();
      const grade = Object.assign(make("span", `${link.grade.mark} ${link.grade.name}`), { className: "badge", title: link.grade.meaning });
      const lead = Object.assign(make("a", link.whole), { className: `v ${link.overall}`, href: link.getAttribute("href") });
      line.insertCell().append(grade);
      for (const text of [link.behind, link.dataset.e]) line.insertCell().textContent = text;
      line.insertCell().append(lead);
      line.insertCell().textContent = `${row.row.closest("tbody").rows[0].querySelector("span").textContent}: ${row.row.cells[0].textContent}`;
    }
    const region = Object.assign(make("div"), { className: "scroll", tabIndex: 0 });
    region.setAttribute("role", "region");
    region.setAttribute("aria-label", "Cells by their grade");
    region.append(table);
    return place.replaceChildren(region);
  }

  function apply() {
    const state = asked();
    const under = state.get("perturbation");
    const place = under ? [...form.elements.perturbation.options].findIndex((option) => option.value === under) - 1 : -1;
    main.classList.toggle("one", place >= 0);  // the numbers in the cells count all perturbations
    for (const link of links) {
      const found = place < 0 ? null : LETTERS[letters[link.dataset.p][place]];
      link.now = place < 0 ? link.overall : found ? found[0] : "";
      const text = place < 0 ? link.whole : link.now ? `${Object.values(LETTERS).find(([word]) => word === link.now)[1]} ${link.now}` : "not asked";
      if (link.textContent !== text) {
        link.textContent = text;
        link.className = `v ${link.now || "none"}`;
      }
    }
    const chosen = state.has("engine") ? new Set(state.getAll("engine")) : null;
    const shown = columns.map((column) => !chosen || chosen.has(column.name));
    columns.forEach((column, n) => { column.cell.hidden = !shown[n]; });
    let first = 0;
    for (const family of families) {
      const visible = shown.slice(first, first + family.size).filter(Boolean).length;
      family.cell.hidden = !visible;
      family.cell.colSpan = visible || 1;
      first += family.size;
    }
    const { fits, wrong, words, counted } = conditions(state.get("q") || "");
    const kept = [];
    let all = 0;
    for (const { body, scenario, rows } of bodies) {
      let any = false;
      for (const row of rows) {
        const words = new Set(row.links.flatMap((found, n) => (shown[n] ? found.map((link) => link.now) : [])));
        const keep = (!state.has("scenario") || state.get("scenario") === scenario)
          && (!state.has("verdict") || words.has(state.get("verdict")))
          && (!state.has("differ") || ((words.has("holds") || words.has("in-part")) && words.has("violated")))
          && (!state.has("changed") || row.changed)
          && fits(row, shown);
        row.row.hidden = !keep;
        if (row.beside) row.beside.hidden = !keep;
        if (keep) for (const [n, cell] of row.cells) cell.hidden = !shown[n];
        any ||= keep;
        if (keep) kept.push(row);
        all += 1;
      }
      body.hidden = !any;
    }
    for (const { table, keys } of operators) {
      [...table.tHead.rows[0].cells].forEach((cell, n) => { cell.hidden = n > 0 && !shown[places.get(keys[n])]; });
      table.parentElement.hidden = ![...table.tBodies[0].rows].some((row) => !row.hidden) || !keys.some((key, n) => n && shown[places.get(key)]);
    }
    follow(state.get("scenario"));
    tellWeakest(state.has("weakest"), kept, shown);
    const cells = kept.flatMap((row) => row.links.filter((found, n) => shown[n]).flat()).filter((link) => link.now);
    const counts = counted() ? verdicts.map((name) => [name, cells.filter((link) => link.now === name).length]).filter(([, number]) => number) : [];
    const said = [`${kept.length} of ${amount(all, "guarantee")}`, ...counts.map(([name, number]) => `${amount(number, "cell")} ${name}`), ...(under ? [`verdicts under ${under}`] : []), ...wrong];
    if (!kept.length && words.length > 1) said.push(...words.map(([text, alone]) => `${text} alone: ${everyRow.filter((row) => alone(row, shown)).length}`));
    form.querySelector("output").textContent = said.join(", ");
  }

  // The tables of programs under perturbations show the columns and the scenario that the matrix shows.
  function follow(scenario) {
    for (const program of document.querySelectorAll("details[data-scenario]")) {
      program.hidden = !!scenario && program.dataset.scenario !== scenario;
      for (const table of program.querySelectorAll("table.follows")) {
        const hidden = [...table.tHead.rows[0].cells].map((cell) => !!cell.dataset.key && columns[places.get(cell.dataset.key)].cell.hidden);
        for (const row of table.rows) [...row.cells].forEach((cell, n) => { cell.hidden = hidden[n]; });
      }
    }
  }

  function read() {
    const [anchor, query = ""] = decode(location.hash.slice(1));
    const state = new URLSearchParams(query);
    for (const name of fields) form.elements[name].value = state.get(name) || "";
    for (const box of form.querySelectorAll("[name=engine]")) box.checked = !state.has("engine") || state.getAll("engine").includes(box.value);
    for (const name of boxes) if (form.elements[name]) form.elements[name].checked = state.has(name);
    wanted = state;
    readMove();
    const named = state.getAll(foldedFirst ? "open" : "fold");
    for (const { body, scenario } of bodies) fold(body, named.some((name) => name === "*" || name === scenario) !== foldedFirst);
    dress(state.get("theme") || "system");
    apply();
    show(anchor);
  }

  function dress(name) {
    theme = ["dark", "light"].includes(name) ? name : "system";
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    form.elements.theme.textContent = `Theme: ${theme}`;
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
    const query = asked().toString();
    return `#${encodeURIComponent(anchor)}${query ? `?${query}` : ""}`;
  }

  function write() {
    history.replaceState(null, "", address(opened ? opened.id : ""));
  }

  function show(anchor) {
    let target = anchor && element(anchor);
    if (target && target.matches("section.row")) {  // the first cell of a guarantee
      unpack(target);
      target = target.querySelector("article") || target;
    }
    const back = opened && opened !== target ? matching(opened) : null;
    close();
    if (!target) return back && back.focus();
    for (let outer = target.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
    const panel = target.closest("section.row");
    if (!panel) {
      if (target.matches("tbody")) fold(target, false);
      target.tabIndex = -1;
      target.focus({ preventScroll: true });
      return target.scrollIntoView();
    }
    opened = target;
    target.classList.add("open");
    target.tabIndex = -1;
    panel.classList.add("open");
    panel.querySelector("h3 button")?.setAttribute("disabled", "");
    panel.setAttribute("role", "dialog");
    panel.setAttribute("aria-label", "Evidence");
    if (!panel.querySelector(".close")) {
      const made = button("Close ✕", leave);
      made.className = "close";
      panel.prepend(made);
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
    const panel = opened.closest("section.row");
    opened.classList.remove("open");
    panel.classList.remove("open");
    panel.querySelector("h3 button")?.removeAttribute("disabled");
    panel.removeAttribute("role");
    panel.removeAttribute("aria-label");
    opened = null;
  }

  // The link that the reader came from, or the cell of what is open. If that is hidden, the table.
  function matching(shown) {
    const href = `#${shown.id}`;
    const found = from && from.isConnected && from.getAttribute("href") === href ? from : links.find((link) => link.getAttribute("href") === href);
    return found && found.offsetParent ? found : main.parentElement;
  }

  function leave() {
    const back = matching(opened);
    close();
    history.pushState(null, "", address(""));
    back.focus();
  }

  function move(event) {
    const link = event.target.closest("a.v");
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!link || !step || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const table = link.closest("table");
    const rows = [...table.tBodies].flatMap((body) => (body.hidden || body.classList.contains("folded") ? [] : [...body.rows])).filter((row) => !row.hidden && !row.matches(".scenario"));
    const at = rows.findIndex((row) => row.contains(link));
    const column = link.closest("td").cellIndex;
    event.preventDefault();
    for (let x = column + step[0], y = at + step[1]; rows[y] && rows[y].cells[x]; x += step[0], y += step[1]) {
      const next = rows[y].cells[x].hidden ? null : rows[y].cells[x].querySelector("a.v");
      if (next) return next.focus();
    }
  }

  moving.addEventListener("input", (event) => {
    if (["from", "to"].includes(event.target.name)) offerReleases(event.target.name);
    tellMove();
    write();
  });
  moving.addEventListener("reset", () => setTimeout(() => {
    for (const name of ["from", "to"]) offerReleases(name);
    tellMove();
    write();
  }));
  document.addEventListener("click", (event) => {
    if (!event.target.matches("[name=weak]")) return;
    form.elements.weakest.checked = true;
    apply();
    write();
    show("matrix");
  });
  form.addEventListener("input", (event) => {
    for (const { body } of bodies) if (event.target.name !== "engine") fold(body, false);  // show what the query finds
    apply();
    write();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => {
    for (const { body } of bodies) fold(body, false);
    apply();
    write();
  }));
  form.elements.fold.addEventListener("click", () => {
    const folded = !bodies.every(({ body }) => body.classList.contains("folded"));
    for (const { body } of bodies) fold(body, folded);
    write();
  });
  form.elements.theme.addEventListener("click", () => {
    dress({ system: "dark", dark: "light", light: "system" }[theme]);
    write();
  });
  main.addEventListener("keydown", move);
  const menu = form.querySelector(".menu");
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    if (menu.open) {
      menu.open = false;
      menu.querySelector("summary").focus();
    } else if (opened) leave();
  });
  document.addEventListener("click", (event) => { if (!menu.contains(event.target)) menu.open = false; });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    from = link;
    const anchor = decode(link.getAttribute("href").slice(1))[0];
    history.pushState(null, "", address(anchor));
    show(anchor);
  });
  document.addEventListener("DOMContentLoaded", wait);
  document.addEventListener("toggle", (event) => unpack(event.target), true);
  addEventListener("beforeprint", () => [...waiting.keys()].forEach(unpack));
  addEventListener("load", () => {
    if (opened) setTimeout(() => { if (opened) opened.closest("section.row").scrollTop = 0; });  // the browser scrolled to the cell itself
  });
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
  read();
})();
