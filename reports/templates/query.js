"use strict";
// Words for one thing: each finds what the others find.
const SYNONYMS = [
  ["deduplication", "dedup", "dropduplicates", "distinct", "unique", "duplicate"],
  ["ttl", "time to live", "expiry", "expiration", "horizon"],
  ["timer", "timeout", "reminder", "alarm"],
  ["late", "lateness", "watermark", "delay"],
  ["session", "gap", "inactivity"],
  ["join", "pair", "partner"],
  ["window", "pane", "trigger"],
  ["restart", "recovery", "checkpoint", "resume", "crash"],
  ["exactly once", "twice", "doubled", "lost"],
  ["type", "schema", "encoder", "coder", "serializer"],
  ["version", "upgrade", "migration", "evolution"],
];

// The other words for what a word names, in the singular or plural.
const alike = (word) => SYNONYMS.filter((all) => all.includes(word) || all.includes(word.replace(/s$/, ""))).flat().filter((other) => other !== word);

// The language of the page's queries. It knows nothing of the page.
//
// parseQuery(text) gives {tree, wrong}. A tree is ["and", tree…], ["or", tree…], ["not", tree], ["word", word], or ["cell", word…]: words
// that speak of one cell together. A word in quotes keeps them. wrong: what cannot be meant, in words.
function parseQuery(text) {
  const phrases = SYNONYMS.flat().filter((word) => word.includes(" "));
  const quoted = phrases.reduce((said, phrase) => said.replace(new RegExp(`(?<!")\\b${phrase}\\b`, "g"), `"${phrase}"`), text.toLowerCase());
  const tokens = quoted.match(/"[^"]*"|[()]|[^\s()]+/g) || [];
  const wrong = [];
  let at = 0;

  function either() {
    const found = [all()];
    while (tokens[at] === "or") {
      at += 1;
      found.push(all());
    }
    if (found.length > 1 && found.some((tree) => tree.length === 1)) wrong.push("or needs something on both sides");
    return found.length > 1 ? ["or", ...found.filter((tree) => tree.length > 1)] : found[0];
  }

  function all() {
    const found = [];
    while (at < tokens.length && tokens[at] !== ")" && tokens[at] !== "or") {
      const tree = one();
      if (!tree) continue;
      const last = found[found.length - 1];
      if (tree[0] === "cell" && last && last[0] === "cell") last.push(...tree.slice(1));
      else found.push(tree);
    }
    return ["and", ...found];
  }

  function one() {
    const token = tokens[at];
    at += 1;
    if (token === "and") return null;
    if (token === "not") {
      const ends = at >= tokens.length || tokens[at] === ")" || tokens[at] === "or";
      if (ends) wrong.push("not needs something after it");
      const tree = ends ? null : one();
      return tree && ["not", tree];
    }
    if (token !== "(") return [/^(was|now|since):/.test(token) ? "cell" : "word", token];
    const tree = either();
    if (tokens[at] === ")") at += 1;
    else wrong.push("a bracket is not closed");
    return tree;
  }

  const found = [];
  while (at < tokens.length) {
    found.push(either());
    if (tokens[at] === ")") {
      wrong.push("a bracket is closed that was not opened");
      at += 1;
    }
  }
  return { tree: found.length === 1 ? found[0] : ["and", ...found], wrong };
}
