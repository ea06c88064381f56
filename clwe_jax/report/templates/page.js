// A click on a column's head sorts its table by the cells' data-v (or text); a second click reverses
// the order.
// A line above a table says that columns are hidden at its right.
// A button copies each command and piece of code.
// A bar of filters hides the rows of its table that do not match: a select compares with the text
// of one column, an input looks for its words anywhere in the row.
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
  const rows = [...bar.parentElement.querySelector('table').tBodies[0].rows];
  const texts = rows.map(row => row.textContent.toLowerCase());
  const show = () => {
    let shown = 0;
    rows.forEach((row, i) => {
      const selects = [...bar.querySelectorAll('select')];
      const words = bar.querySelector('input').value.toLowerCase().split(/\s+/);
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
for (const box of document.querySelectorAll('pre')) {
  const text = box.textContent.trim();
  const copied = box.classList.contains('command') ? text.replace(/\s+/g, ' ') : text;
  const button = make('button', {type: 'button', class: 'copy', onclick: async () => {
    await copyText(copied);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  }}, 'Copy');
  box.append(button);
}
const cue = () => {
  for (const line of document.querySelectorAll('.cue')) {
    const box = line.nextElementSibling;
    line.hidden = box.scrollWidth <= box.clientWidth + 1;
  }
};
addEventListener('resize', cue);
addEventListener('toggle', cue, true);
cue();
