// What changes for whoever moves from one side to another one. It knows nothing of the page. The data is that of reports/moves.py.
//
// compareSides(data, old, other) gives, by kind, [{row, names, how}…]: places of guarantees, the perturbations that speak, and how it fails.
// What is broken on one side alone, or held on the old one, and not decided on the other one is "apart", with the reason in "why". It also counts what stays (held on both, broken alike on both), and what
// is open: nothing speaks against either side, and no perturbation was decided on both.
function compareSides(data, old, other) {
  const WORDS = { s: "unsupported", u: "undecided", e: "an error of the harness", "-": "not asked" };
  const found = { broken: [], mended: [], both: [], apart: [], held: 0, alike: 0, open: 0 };
  const letters = (side, row) => (side.cells[row] < 0 ? "" : data.letters[side.cells[row]]);

  // Perturbation (its place) -> how the guarantee fails under it (a place in data.ways).
  function ways(side, row) {
    const all = [...letters(side, row)].flatMap((letter, n) => (letter === "v" ? [n] : []));
    return new Map(all.map((n, at) => [n, side.how[row]?.[at]]));
  }

  const told = (side, row, names) => [...new Set(names.map((n) => data.ways[ways(side, row).get(n)]).filter(Boolean))];

  data.rows.forEach((_, row) => {
    const [a, b] = [letters(old, row), letters(other, row)];
    if (!a && !b) return;
    const names = (fits) => data.perturbations.flatMap((_, n) => (fits(a[n] || "-", b[n] || "-") ? [n] : []));
    const decided = (letter) => letter === "h" || letter === "v";
    const broken = names((x, y) => x === "h" && y === "v");
    const mended = names((x, y) => x === "v" && y === "h");
    const bad = names((x, y) => x === "v" && y === "v");
    const common = names((x, y) => decided(x) && decided(y));
    const alone = names((x, y) => (x === "v" && !decided(y)) || (y === "v" && !decided(x)));
    if (broken.length) found.broken.push({ row, names: broken, how: told(other, row, broken) });
    else if (mended.length) found.mended.push({ row, names: mended, how: told(old, row, mended) });
    else if (bad.length) {
      const alike = bad.some((n) => ways(old, row).get(n) === ways(other, row).get(n));
      if (alike) found.alike += 1;
      else found.both.push({ row, names: bad, how: [`there: ${told(old, row, bad).join("; ")}`, `here: ${told(other, row, bad).join("; ")}`] });
    } else if (alone.length) {
      const side = alone.some((n) => b[n] === "v") ? old : other;
      const letter = (n) => (side === old ? a[n] : b[n]) || "-";
      const why = [...new Set(alone.map((n) => WORDS[letter(n)]))].filter(Boolean).join(", ");
      found.apart.push({ row, names: alone, how: told(side === old ? other : old, row, alone), why: `broken on ${side === old ? "the new side" : "the old side"}; on the ${side === old ? "old" : "new"} one: ${why}` });
    } else if (common.length) found.held += 1;
    else if (a.includes("h")) {
      const held = names((x) => x === "h");
      const why = [...new Set(held.map((n) => WORDS[b[n] || "-"]))].join(", ");
      found.apart.push({ row, names: held, how: [], why: `holds on the old side; on the new one: ${why}` });
    }
    else found.open += 1;
  });
  return found;
}
