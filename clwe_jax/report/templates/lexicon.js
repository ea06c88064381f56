// Judges proposed entries. A judgement is {right: [translations], wrong: [translations], forms, skip}
// by word; it stays in localStorage, and in the files that the page saves and loads.
const DATA = JSON.parse(document.getElementById('data').textContent);
const [SOURCE, TARGET] = DATA.languages;
const nameOf = language => DATA.names[DATA.languages.indexOf(language)];
const PAIR = `${SOURCE}-${TARGET}`;
const KEY = `clwe-jax lexicon ${PAIR} ${DATA.run}`;
const LISTED = 15;
const $ = id => document.getElementById(id);
const WORDS = DATA.proposals.map(x => ({word: x[0], count: x[1], translations: x[2], forms: x[3],
  examples: x[4]}));
const BY_WORD = new Map(WORDS.map(x => [x.word, x]));
let judged = {};
try { judged = JSON.parse(localStorage.getItem(KEY)) || {}; } catch { /* begins anew */ }
let done = [];  // what the page showed before each judgement, for undo
let now = null;
let marks = {};  // of the translations of the word that is shown: 'right' or 'wrong'
let withForms = false;  // whether what is accepted holds for its forms too

const keep = () => {
  try { localStorage.setItem(KEY, JSON.stringify(judged)); }
  catch { $('said').textContent = 'This browser keeps nothing: download before you leave.'; }
};
const stateOf = word => {
  const found = judged[word];
  if (!found) return 'open';
  if (found.right?.length) return 'yes';
  return found.wrong?.length ? 'no' : 'skip';
};
// A name has a capital in every script that has capitals.
const isName = x => {
  const cased = [x.word, x.translations[0][0]].map(word => word[0])
    .filter(letter => letter.toLowerCase() !== letter.toUpperCase());
  return cased.length > 0 && cased.every(letter => letter !== letter.toLowerCase());
};
const chosen = () => {
  const state = $('state').value, source = $('source').value, names = $('names').checked;
  const asked = $('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  return WORDS.filter(x => {
    if (state && stateOf(x.word) !== state) return false;
    if (source && !x.translations.some(t => t[3].split(' + ').includes(source))) return false;
    if (!names && isName(x)) return false;
    const text = [x.word, ...x.translations.map(t => t[0]), ...x.forms.map(f => f[0])].join(' ');
    return asked.every(part => text.toLowerCase().includes(part));
  });
};
const marked = (parts, language) => make('div', {lang: language, dir: 'auto'},
  ...parts.map((part, i) => i % 2 ? make('mark', {}, part) : part));

const show = () => {
  const list = chosen();
  if (!now || !list.includes(now)) turnTo(list[0]);
  const states = WORDS.map(x => stateOf(x.word));
  const number = state => states.filter(x => x === state).length;
  const all = WORDS.length - number('open');
  $('progress').max = WORDS.length || 1;
  $('progress').value = all;
  $('counts').textContent = `${all} of ${WORDS.length} judged: ${number('yes')} accepted, `
    + `${number('no')} rejected, ${number('skip')} skipped`;
  $('card').replaceChildren(...(now ? card(now) : nothingLeft(number('open'))));
  const place = Math.max(0, list.indexOf(now));
  $('list').replaceChildren(...list.slice(place, place + LISTED).map(x => make('li',
    {class: x === now ? 'now' : null, onclick: () => go(x)},
    spoken(x.word, SOURCE, {}, 'b'),
    spoken((judged[x.word]?.right || x.translations.map(t => t[0])).join(', '), TARGET),
    make('span', {class: 'n'}, x.translations[0][2].toFixed(2)))));
};
const nothingLeft = others => [others ? make('p', {},
  `No word is left that you look for; ${others} others are not judged. `,
  make('button', {onclick: showAll}, 'Show them')) : make('p', {}, 'Every word is judged.')];
const originOf = proposed => {
  if (!proposed) return 'your own';
  const [, count, score, source] = proposed;
  return `${score.toFixed(2)} · ${count ? `${Math.round(count)} links · ` : ''}${source}`;
};
const card = x => [
  spoken(x.word, SOURCE, {}, 'h2'),
  make('p', {class: 'soft'}, `${x.count} times`, ...(x.forms.length ? [
    make('label', {}, ' · ', make('input', {type: 'checkbox', id: 'forms',
      checked: withForms ? '' : null, oninput: e => { withForms = e.target.checked; }}),
    ' also: ', ...x.forms.flatMap(([form, count]) => [spoken(form, SOURCE), ` (${count}) `]))] : [])),
  make('ol', {}, ...translationsOf(x).map((word, place) => make('li',
    {class: marks[word] || ['right', 'wrong'].find(kind => judged[x.word]?.[kind]?.includes(word)),
    onclick: () => turn(word)},
    spoken(word, TARGET, {}, 'b'),
    make('span', {class: 'soft'}, originOf(x.translations[place]))))),
  ...x.examples.map(([left, right, reference]) => make('div', {class: 'pair'},
    marked(left, SOURCE), marked(right, TARGET), make('small', {class: 'soft'}, reference))),
];
// What is proposed of a word, and the person's own translations.
const translationsOf = x => [...new Set([...x.translations.map(t => t[0]),
  ...(judged[x.word]?.right || [])])];
const turn = word => {
  marks[word] = {undefined: 'right', right: 'wrong'}[marks[word]];
  show();
};
const turnTo = x => {
  now = x || null;
  marks = {};
  withForms = Boolean(x && judged[x.word]?.forms?.length);
};
const go = x => { turnTo(x); show(); };
const showAll = () => {
  $('state').value = 'open';
  $('source').value = $('search').value = '';
  $('names').checked = true;
  show();
};
const move = step => {
  const list = chosen(), place = list.indexOf(now) + step;
  if (list[place]) go(list[place]);
};
const judge = verdict => {
  if (!now) return;
  const list = chosen();
  const next = list[list.indexOf(now) + 1] || null;
  done.push({x: now, before: judged[now.word], marks, withForms});
  judged[now.word] = {...verdict, forms: withForms ? now.forms.map(f => f[0]) : []};
  keep();
  go(next);
};
const joined = (words, earlier, without) =>
  [...new Set([...words, ...(earlier || [])])].filter(word => !without.includes(word));
const among = kind => translationsOf(now).filter(word => marks[word] === kind);
const ACTIONS = {
  accept: () => {  // a word that is judged again keeps what it had, but for what is marked otherwise now
    const earlier = judged[now.word] || {};
    const right = joined(among('right'), earlier.right, among('wrong'));
    const wrong = joined(among('wrong'), earlier.wrong, right);
    const first = translationsOf(now).find(word => !wrong.includes(word));
    judge({right: right.length ? right : first ? [first] : [], wrong});
  },
  reject: () => {
    const wrong = among('wrong');
    const right = among('right');
    const others = translationsOf(now).filter(word => !right.includes(word));
    judge({right, wrong: wrong.length ? wrong : others});
  },
  correct: () => {
    const field = make('input', {class: 'own', dir: 'auto', lang: TARGET, 'aria-label': 'Translations',
      placeholder: `${nameOf(TARGET)}: translations, with commas between them; Enter`});
    $('card').append(field);
    field.value = (judged[now.word]?.right || []).join(', ');
    field.onkeydown = e => {
      if (e.key === 'Escape') show();
      if (e.key !== 'Enter') return;
      const right = field.value.split(/[,،、]/).map(x => x.trim()).filter(Boolean);
      if (right.length) judge({right, wrong: joined(among('wrong'), judged[now.word]?.wrong, right)});
    };
    field.focus();
  },
  skip: () => judge({skip: true, wrong: [], right: []}),
  undo: () => {
    if (!done.length) return;
    const last = done.pop();
    if (last.before) judged[last.x.word] = last.before;
    else delete judged[last.x.word];
    [now, marks, withForms] = [last.x, last.marks, last.withForms];
    keep();
    show();
  },
  forms: () => { withForms = !withForms; show(); },
};
const KEYS = {a: 'accept', r: 'reject', c: 'correct', s: 'skip', u: 'undo', f: 'forms'};
document.onkeydown = e => {
  if (e.ctrlKey || e.metaKey || e.altKey || /INPUT|SELECT|TEXTAREA/.test(e.target.tagName)
    && e.target.type !== 'checkbox') return;
  const action = KEYS[e.key.toLowerCase()];
  const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key];
  if (action && (now || action === 'undo')) ACTIONS[action]();
  else if (step) move(step);
  else if (now && translationsOf(now)[e.key - 1]) turn(translationsOf(now)[e.key - 1]);
  else return;
  e.preventDefault();
};
for (const button of document.querySelectorAll('[data-do]'))
  button.onclick = () => { if (now || button.dataset.do === 'undo') ACTIONS[button.dataset.do](); };

// Files.
const pairsOf = kind => Object.entries(judged).flatMap(([word, x]) =>
  [word, ...(kind === 'right' ? x.forms || [] : [])].flatMap(form =>
    (x[kind] || []).map(other => [form, other])));
const asLines = kind => pairsOf(kind).map(pair => `${pair.join('\t')}\n`).join('');
const rows = () => Object.entries(judged).flatMap(([word, x]) => ['right', 'wrong'].flatMap(kind =>
  (x[kind] || []).map(other => {
    const found = BY_WORD.get(word);
    const proposed = found?.translations.find(t => t[0] === other);
    const [left, right, reference] = found?.examples[0] || [[], [], ''];
    return [word, other, kind, proposed ? 'proposed' : 'own', proposed?.[1] ?? '', proposed?.[2] ?? '',
      proposed?.[3] ?? '', (x.forms || []).join(', '), left.join(''), right.join(''), reference];
  })));
const HEAD = ['word', 'translation', 'judgement', 'origin', 'links', 'score', 'source', 'forms',
  'example', 'translated example', 'reference'];
const asCsv = () => [HEAD, ...rows()].map(row =>
  row.map(x => `"${String(x).replaceAll('"', '""')}"`).join(',') + '\r\n').join('');
const asTsv = () => [HEAD, ...rows()].map(row =>
  row.map(x => String(x).replaceAll(/[\t\r\n]/g, ' ')).join('\t') + '\n').join('');
const escaped = text => text.replace(/[&<>"]/g, x => `&#${x.charCodeAt(0)};`);
const form = (language, text) =>
  `<form lang="${escaped(language)}"><text>${escaped(text)}</text></form>`;
const asLift = () => {
  const entries = Object.entries(judged).filter(([, x]) => x.right?.length).map(([word, x], n) => {
    const examples = (BY_WORD.get(word)?.examples || []).map(([left, right, reference]) =>
      `<example source="${escaped(reference)}">${form(SOURCE, left.join(''))}<translation>`
      + `${form(TARGET, right.join(''))}</translation></example>`).join('');
    const senses = x.right.map((other, i) => `<sense id="${n}-${i}"><gloss lang="${escaped(TARGET)}">`
      + `<text>${escaped(other)}</text></gloss>${i ? '' : examples}</sense>`).join('');
    const variants = (x.forms || []).map(y => `<variant>${form(SOURCE, y)}</variant>`).join('');
    return `<entry id="${n}"><lexical-unit>${form(SOURCE, word)}</lexical-unit>${variants}${senses}`
      + '</entry>\n';
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<lift version="0.13" producer="clwe_jax">\n`
    + `${entries.join('')}</lift>\n`;
};
const FILES = {
  txt: [`${PAIR}.txt`, () => asLines('right'), 'text/plain'],
  not: [`${PAIR}.not.txt`, () => asLines('wrong'), 'text/plain'],
  csv: [`${PAIR}.csv`, asCsv, 'text/csv'],
  tsv: [`${PAIR}.tsv`, asTsv, 'text/tab-separated-values'],
  lift: [`${PAIR}.lift`, asLift, 'application/xml'],
};
for (const button of document.querySelectorAll('[data-save]')) {
  const [name, text, type] = FILES[button.dataset.save];
  button.append(make('code', {}, ` ${name}`));
  button.onclick = () => saveFile(name, text(), type);
}
// Lines of `kind` 'right' or 'wrong'; a form that a head word has is its form again. A word that is
// proposed with another case is the same word.
const read = (text, kind) => {
  const bySmall = words => new Map(words.map(word => [word.toLowerCase(), word]));
  const spelled = [bySmall(WORDS.flatMap(x => [x.word, ...x.forms.map(f => f[0])])),
    bySmall(WORDS.flatMap(x => x.translations.map(t => t[0])))];
  const heads = new Map(WORDS.flatMap(x => x.forms.map(f => [f[0], x.word])));
  let count = 0;
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  for (const pass of [0, 1]) for (const line of lines) {
    const [word, other] = (line.includes('\t') ? line.split('\t') : line.trim().split(/ +/))
      .slice(0, 2).map((x, side) => spelled[side].get(x.trim().toLowerCase()) ?? x.trim());
    if (!word || !other || heads.has(word) !== (pass === 1)) continue;
    const head = judged[heads.get(word)];
    count += 1;
    if (head?.[kind]?.includes(other)) {
      head.forms = [...new Set([...(head.forms || []), word])];
      continue;
    }
    const found = judged[word] ||= {right: [], wrong: [], forms: []};
    delete found.skip;
    found[kind] = [...new Set([...(found[kind] || []), other])];
  }
  return count;
};
$('load').onchange = async e => {
  const said = [];
  for (const file of e.target.files) {
    const kind = /\.not\.txt$/.test(file.name) ? 'wrong' : 'right';
    said.push(`${file.name}: ${read(await file.text(), kind)} pairs`);
  }
  keep();
  $('said').textContent = said.join(', ');
  show();
};
for (const id of ['state', 'source', 'search', 'names']) $(id).oninput = () => { now = null; show(); };
const kinds = new Set(WORDS.flatMap(x => x.translations.flatMap(t => t[3].split(' + '))));
$('source').append(...[...kinds].sort().map(x => make('option', {value: x}, x)));
$('about').textContent = `${WORDS.length} words of ${nameOf(SOURCE)} that your dictionary lacks, the `
  + `surest first, with their likely translations in ${nameOf(TARGET)}.`;
show();
