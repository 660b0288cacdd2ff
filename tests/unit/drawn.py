"""How the cases are drawn that several files share (the fixture ``cases``)."""

WANTED, SEED = 10, 7
