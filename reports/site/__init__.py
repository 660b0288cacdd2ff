"""A static site of guarantees over releases: pages, an Atom feed, and a JSON document for each guarantee and each
engine."""
