"""The page's style sheet and its one script, which sorts and filters tables."""

CSS = """
:root { color-scheme: light dark; --font: system-ui, -apple-system, "Segoe UI", Roboto,
  "Helvetica Neue", "Noto Sans", Arial, sans-serif; --page: #fff; --ink: #1d232b; --soft: #5d6773;
  --line: #dfe3e8; --fill: #f4f6f8; --bar: #3b7dd8; --mark: #b3541e; --warn: #fff6e5;
  --warn-line: #e3b341; --tag-back: 92%; --tag-ink: 28%; }
@media (prefers-color-scheme: dark) { :root { --page: #14171b; --ink: #e3e7ec; --soft: #98a3af;
  --line: #2e353d; --fill: #1c2127; --bar: #5c96e6; --mark: #e9a06b; --warn: #2b2415;
  --warn-line: #8a6d1f; --tag-back: 22%; --tag-ink: 82%; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.4rem 1.25rem 4rem; max-width: 1180px; background: var(--page);
  color: var(--ink); font: 16px/1.55 var(--font); overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.95rem; line-height: 1.2; letter-spacing: -.01em; }
h2 { margin: 3rem 0 .4rem; padding-top: 1.1rem; border-top: 1px solid var(--line);
  font-size: 1.3rem; }
h3 { margin: 1.6rem 0 .4rem; font-size: 1rem; }
p { margin: .5rem 0; max-width: 78ch; }
.lead { font-size: 1.05rem; color: var(--soft); }
.note, .soft { color: var(--soft); font-size: .9rem; }
code, pre { font: .88em/1.5 ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; }
pre { margin: .6rem 0; padding: .7rem .9rem; background: var(--fill); border-radius: 6px;
  white-space: pre-wrap; }
pre.command { white-space: normal; overflow-x: auto; }
pre.command span, dt { white-space: nowrap; }
.warning { margin: 1rem 0; padding: .6rem .9rem; max-width: none; background: var(--warn);
  border-left: 4px solid var(--warn-line); border-radius: 4px; }
.warning ul { margin: .3rem 0; padding-left: 1.2rem; }
nav { margin: 1rem 0 0; font-size: .92rem; }
nav a { margin-right: 1.1rem; white-space: nowrap; }
a { color: var(--bar); text-decoration: none; }
a:hover { text-decoration: underline; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(165px, 1fr)); gap: .8rem;
  margin: 1.5rem 0 1rem; }
.tile { padding: .85rem 1rem; background: var(--fill); border-radius: 8px; }
.tile span { display: block; color: var(--soft); font-size: .86rem; }
.tile b { display: block; font-size: 1.75rem; line-height: 1.3; font-weight: 650;
  font-variant-numeric: tabular-nums; }
.tile.first b { color: var(--bar); font-size: 2.15rem; line-height: 1.1; padding-bottom: .15rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 460px), 1fr));
  gap: 1.4rem 2.2rem; margin: 1rem 0; }
.charts.three { grid-template-columns: repeat(auto-fit, minmax(min(100%, 320px), 1fr)); }
figure { margin: 0; }
figcaption { margin-bottom: .3rem; font-size: .95rem; }
figure svg { display: block; width: 100%; height: auto; color: var(--soft); }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; }
.legend { display: block; color: var(--soft); font-size: .86rem; line-height: 1.5; }
.legend span { display: inline-block; margin-right: .95rem; white-space: nowrap; }
.legend i { display: inline-block; width: 1.35em; margin-right: .4em; vertical-align: .28em; }
.scroll { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .93rem; font-variant-numeric: tabular-nums;
  overflow-wrap: normal; }
th, td { padding: .34rem .8rem; text-align: left; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--soft); font-weight: 600; font-size: .86rem; vertical-align: bottom;
  white-space: nowrap; }
th:first-child, td:first-child { padding-left: 0; }
td.n, th.n { text-align: right; white-space: nowrap; }
tr.total td { font-weight: 650; }
th button { all: unset; cursor: pointer; }
th button:hover, th button:focus-visible { color: var(--ink); text-decoration: underline; }
th[aria-sort] button::after { content: " \\2193"; }
th[aria-sort=ascending] button::after { content: " \\2191"; }
td .interval { display: block; color: var(--soft); font-weight: 400; font-size: .78rem;
  line-height: 1.2; }
.bar { display: block; width: 8.5rem; height: .45rem; margin-top: .5rem; background: var(--line);
  border-radius: 3px; position: relative; }
.bar i { display: block; height: 100%; background: var(--bar); border-radius: 3px; }
.bar u { position: absolute; top: -.2rem; width: 2px; height: .85rem; background: var(--ink); }
.up { color: #1f8a5b; } .down { color: #c4475c; }
.example { margin: 1rem 0; padding-left: 3.2rem; position: relative; max-width: none;
  line-height: 1.35; }
.example > .tag { position: absolute; left: 0; top: .2rem; }
.word { display: inline-block; margin: 0 .38rem .3rem 0; vertical-align: top; max-width: 100%; }
.word b { font-weight: 700; }
.word small { display: block; color: var(--soft); font-size: .76rem; }
.tag { display: inline-block; padding: 0 .38em; border-radius: 4px; font-size: .72rem;
  line-height: 1.5; font-weight: 600; background: hsl(var(--hue) 55% var(--tag-back));
  color: hsl(var(--hue) 65% var(--tag-ink)); }
.word .tag { margin-left: .2em; vertical-align: .2em; }
.chip { display: inline-block; margin: 0 .9rem .15rem 0; white-space: nowrap; }
.chip .soft { font-size: .8rem; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 330px), 1fr));
  gap: 0 2.2rem; margin: .8rem 0; }
dl div { display: flex; justify-content: space-between; gap: 1rem; padding: .32rem 0;
  border-bottom: 1px solid var(--line); font-size: .93rem; }
dt { color: var(--soft); } dd { margin: 0; text-align: right; }
details { margin: .9rem 0; }
summary { cursor: pointer; color: var(--bar); font-size: .95rem; }
.filters { display: flex; flex-wrap: wrap; gap: .5rem .9rem; align-items: center;
  margin: .8rem 0 .2rem; font-size: .93rem; }
.filters select, .filters input { font: inherit; padding: .2rem .45rem; max-width: 15rem;
  color: var(--ink); background: var(--fill); border: 1px solid var(--line); border-radius: 5px; }
.filters output { color: var(--soft); }
.box { max-height: 34rem; overflow: auto; }
.box thead th { position: sticky; top: 0; background: var(--page); }
footer { margin-top: 3rem; color: var(--soft); font-size: .86rem; }
@media (max-width: 560px) { body { padding: 1.4rem 1rem 3rem; } h1 { font-size: 1.55rem; }
  .example { padding-left: 0; padding-top: 1.5rem; } th, td { padding: .34rem .55rem; }
  .tiles { grid-template-columns: repeat(2, 1fr); } .bar { width: 5rem; } }
@media print { body { max-width: none; } nav, summary { display: none; } }
"""

# A click on a column's head sorts its table by the cells' data-v (or text), again the other way.
# A bar of filters hides the rows of its table that do not have what is asked for: a select compares
# with the text of one column, an input looks for its words anywhere in the row.
SCRIPT = """
for (const head of document.querySelectorAll('th:has(button)')) head.onclick = () => {
  const table = head.closest('table'), column = head.cellIndex, body = table.tBodies[0];
  const up = head.getAttribute('aria-sort') === 'descending';
  for (const other of table.querySelectorAll('th')) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
  const key = row => row.cells[column].dataset.v ?? row.cells[column].textContent;
  const rows = [...body.rows].filter(row => !row.classList.contains('total'));
  const total = [...body.rows].filter(row => row.classList.contains('total'));
  rows.sort((a, b) => (up ? 1 : -1) * key(a).localeCompare(key(b), 'en', {numeric: false}));
  if (rows.every(row => !isNaN(key(row))))
    rows.sort((a, b) => (up ? 1 : -1) * (key(a) - key(b)));
  body.append(...rows, ...total);
};
for (const bar of document.querySelectorAll('.filters')) {
  const rows = [...document.getElementById(bar.dataset.table).tBodies[0].rows];
  const texts = rows.map(row => row.textContent.toLowerCase());
  const show = () => {
    let shown = 0;
    rows.forEach((row, i) => {
      const selects = [...bar.querySelectorAll('select')];
      const words = bar.querySelector('input').value.toLowerCase().split(/\\s+/);
      row.hidden = !selects.every(select =>
        !select.value || row.cells[select.dataset.column].textContent === select.value)
        || !words.every(word => texts[i].includes(word));
      shown += !row.hidden;
    });
    bar.querySelector('output').textContent = `${shown} of ${rows.length} rows`;
  };
  bar.oninput = show;
  show();
}
"""
