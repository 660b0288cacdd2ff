"""The style of a picture's parts, in a page and alone."""

STYLE = """
.picture text { font: 11px ui-monospace, monospace; fill: var(--text); paint-order: stroke; stroke: var(--page);
  stroke-width: 3px; stroke-linejoin: round; }
.picture .title { font: 600 12px system-ui, sans-serif; }
.picture .small, .picture .small text { fill: var(--faint); font-size: 10px; }
.picture .bundle { fill: var(--band); }
.picture .lane { stroke: var(--line); }
.picture .level { stroke: var(--line); stroke-dasharray: 1 4; }
.picture .behind { fill: var(--watermark); opacity: .13; }
.picture .watermark { fill: none; stroke: var(--watermark); stroke-width: 2; }
.picture .of-watermark { fill: var(--watermark); }
.picture .on-time, .picture .output { fill: var(--event); }
.picture .at { fill: var(--page); stroke: var(--event); stroke-width: 2; }
.picture .late { stroke: var(--late); stroke-width: 2.5; fill: none; }
.picture .fired { fill: var(--watermark); }
.picture .stopped { fill: var(--late); }
.picture .drained { fill: none; stroke: var(--faint); }
.picture .cut { stroke: var(--late); stroke-dasharray: 4 3; }
.picture .differs { fill: none; stroke: var(--differs); stroke-width: 2; }
.picture .of-differs { fill: var(--differs); font-weight: 600; }
"""
"""The style of the parts, in the colours of the page around them."""

LIGHT = {
    "page": "#ffffff",
    "text": "#1c2126",
    "faint": "#5b646d",
    "line": "#c3cad1",
    "band": "#eceff3",
    "event": "#0b5cad",
    "late": "#a33a00",
    "watermark": "#7a3f98",
    "differs": "#b00038",
}
"""The colours of a picture that stands alone."""
