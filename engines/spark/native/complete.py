"""Complete mode, in which a query puts out its whole table in each micro-batch. A step may take several of them: what
tells nothing new in a step is left out (``traces.told``), so a row that comes out twice in a step came out twice in a
micro-batch, or changed."""

WHOLE_TABLE = "each micro-batch puts out the whole table"

COUNTED_WHOLE, WINDOWS_WHOLE = (
    dict.fromkeys(silent, WHOLE_TABLE)
    for silent in (
        (
            "running-counts-rise-by-one-per-element",
            "one-emission-per-element",
            "a-count-comes-out-in-a-step-with-an-element-of-its-key",
            "counts-are-the-same-after-a-restart",
            "the-output-is-stable-under-perturbations-identical",
        ),
        (
            "a-window-comes-out-once",
            "a-window-does-not-come-out-before-its-end",
            "the-last-count-of-a-window-comes-out-in-the-first-advance-that-reaches-its-end",
            "an-element-past-the-end-of-its-window-does-not-bring-it-out-again",
            "windows-of-a-key-that-end-at-once-come-out-in-order",
            "window-counts-ignore-order",
            "window-counts-ignore-bundling",
            "window-counts-are-the-same-after-a-restart",
            "the-output-is-stable-under-perturbations-same-multiset-windows",
        ),
    )
)
"""A guarantee (id) -> why the output of a query in complete mode says nothing of it."""
