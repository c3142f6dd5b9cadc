// What a person does on a page: listens to what the browser says the person did, and tells it in order.
//
// Laws of this file:
// - It only listens: nothing is prevented, changed or kept on the page, and the page's own scripts cannot see it.
// - Ways to an element are counted before the page reacts to what was done with it.
// - What is typed into a secret field is never read.
// - What a person does not do (scripts of the page) is not told, except what tools do in a person's place.

const ORIGINAL = Math.random().toString(36).slice(2, 10);
let numbered = 0;
const newId = () => `${ORIGINAL}.${(numbered += 1)}`;
// A page that is no web page (the empty one of a new tab) is not watched.
const isWeb = () => outermost().location.protocol.startsWith('http');
const tell = what => isWeb() && surehandTell(JSON.stringify(what));
const happened = (action, { id = newId(), at = Date.now(), soft = false, replaces = [], keys = [] } = {}) => {
  tell({ kind: 'told', id, at, soft, replaces, keys, action });
  return id;
};

// What appears on the page

// What was shown when something was last pressed: whatever else is shown has appeared since.
let before = null;
let changes = 0;
let currentLook = null;
const note = records => {
  if (records.length === 0) return;
  changes += records.length;
  currentLook = null;
  restLater();
};
const observer = new MutationObserver(note);
observer.observe(document, {
  subtree: true, childList: true, attributes: true, characterData: true,
  attributeFilter: ['class', 'style', 'hidden', 'open', 'aria-hidden', 'aria-expanded', 'aria-label', 'disabled'],
});
const lookNow = () => {
  note(observer.takeRecords());
  if (currentLook === null || Date.now() - currentLook.at > 500) currentLook = Object.assign(new Look(), { at: Date.now() });
  return currentLook;
};
const inAppeared = el => {
  let found = null;
  for (let at = el; before !== null && at && at !== document.body && !before.has(at); at = parentOf(at)) found = at;
  return found;
};

const shownNow = () => {
  const found = new WeakSet();
  const walk = el => {
    if (isGone(el)) return;
    if (isShown(el)) found.add(el);
    for (const child of el.children) walk(child);
    for (const child of el.shadowRoot?.children ?? []) walk(child);
  };
  walk(document.documentElement);
  return found;
};

// What is still to be told: the moment passes at the next act, or after a short time

let open = [];
const later = run => {
  const one = { run };
  open.push(one);
  setTimeout(() => {
    if (!open.includes(one)) return;
    open = open.filter(it => it !== one);
    run();
  }, 150);
};
const settleHere = () => {
  note(observer.takeRecords());
  while (open.length) open.shift().run();
};
// A frame can be gone before its moment has passed: an act in one frame settles all.
const settle = () => {
  for (const face of facesIn(outermost())) face.settle();
};
function* facesIn(place) {
  try {
    if (place[FACE]) yield place[FACE];
    for (let at = 0; at < place.length; at += 1) yield* facesIn(place[at]);
  } catch {
    // A frame of another origin has its own.
  }
}

// Facts about fields

const UNTYPED = ['checkbox', 'radio', 'file', 'button', 'submit', 'reset', 'image', 'hidden'];
const isTyped = el => el.tagName === 'TEXTAREA' || (el.tagName === 'INPUT' && !UNTYPED.includes(el.type));
const hostOf = el => {
  if (isTyped(el)) return el;
  if (document.designMode === 'on') return document.body;
  if (!el.isContentEditable) return null;
  let host = el;
  while (parentOf(host)?.isContentEditable) host = parentOf(host);
  return host;
};
const held = el => elements.values([el])[0];
const short = text => squash(text).slice(0, 500);
const captionOf = el => {
  if (el.type === 'radio') return short(groupCaption(el));
  const name = nameOf(el);
  if (el.matches(BOXES) && isNamedByContent(el)) return short(captionNear(el, lookNow()) || name);
  const isHint = name !== '' && (name === el.getAttribute('placeholder') || name === el.title);
  return short((isHint ? captionBeside(el) : name || labelsOf(el)[0] || captionBeside(el)) || name);
};
const groupCaption = el => {
  const around = ownGroup(el);
  return (around && nameOf(around)) || captionBeside(groupOf(el)[0]) || el.name;
};
// What a person takes for the caption of a field that has no name: the text before it, its column, or a label near it.
const captionBeside = el => {
  const before = el.previousSibling?.nodeType === 3 ? squash(el.previousSibling.data) : '';
  if (/\p{L}/u.test(before)) return before;
  const cell = el.closest('td');
  const column = cell === null ? null : headersOf(cell.parentElement)[cell.cellIndex];
  if (column) return column;
  for (let place = parentOf(el), climbs = 0; place && climbs < 6; place = parentOf(place), climbs += 1) {
    const labels = Array.from(place.querySelectorAll('label, legend, dt, th, [class*=label], [class*=Label], [class*=field-name]'));
    const ahead = labels.filter(it => precedes(it, el) && !it.querySelector('input, select, textarea') && squash(it.textContent) && isShown(it));
    if (ahead.length) return squash(ahead[ahead.length - 1].textContent);
  }
  return captionNear(el, lookNow());
};
const controlOf = el => {
  if (el.tagName === 'SELECT') return 'select';
  if (el.tagName === 'TEXTAREA') return 'text';
  if (el.tagName !== 'INPUT') return el.isContentEditable || el === document.body ? 'editable' : 'other';
  return { number: 'number', range: 'number', date: 'date', checkbox: 'checkbox', radio: 'radio', file: 'file' }[el.type] ?? 'line';
};
const optionsFor = el => {
  // What has no value is there to ask for a choice.
  if (el.tagName === 'SELECT') return Array.from(el.options).filter(option => option.value !== '').map(option => option.label);
  if (el.type === 'radio') return groupOf(el).map(nameOf);
  return Array.from(el.list?.options ?? [], option => option.value);
};
const factsOf = (el, control = controlOf(el)) => {
  const limits = { pattern: el.pattern, minimum: el.min, maximum: el.max };
  const given = Object.entries(limits).filter(([, limit]) => typeof limit === 'string' && limit && limit.length <= 500);
  return {
    control, caption: captionOf(el), options: optionsFor(el).slice(0, 500),
    multiple: el.tagName === 'SELECT' && el.multiple,
    required: el.required === true || el.getAttribute('aria-required') === 'true',
    ...(el.maxLength >= 0 ? { max_length: el.maxLength } : {}), ...Object.fromEntries(given),
  };
};
// Typing

let session = null;
const recent = [];
const begin = el => {
  if (session?.el === el) return session;
  finish();
  const secret = isSecret(el);
  const look = lookNow();
  const text = secret ? '' : held(el);
  session = {
    id: newId(), el, secret, place: placeOf(look), candidates: candidatesFor(el, look), facts: secret ? null : factsOf(el),
    before: text, typed: text, last: text, edited: false, key: null, pending: null, clicks: [], around: aroundOf(el),
  };
  // A field can open a list without a click.
  if (!secret && inAppeared(el) === null) opens({ actor: el, action: session });
  return session;
};
const finish = () => {
  const done = session;
  session = null;
  if (done === null) return;
  if (!done.secret) remember(done);
  if (done.edited) leave(done, done.key);
};
const remember = done => {
  recent.push(done);
  if (recent.length > 3) recent.shift();
};
const leave = (done, key) => {
  const at = Date.now();
  later(() => tellField(done, at, key));
};
const tellField = (done, at, key) => {
  const { id, el, place, candidates } = done;
  if (done.secret) return happened({ kind: 'secret_entered', place, candidates }, { id, at });
  const now = el.isConnected ? held(el) : done.last;
  const value = now === '' ? done.last : now;
  const tookIt = key === 'tab' && value === done.last ? null : key;
  done.told = value;
  knowExactly(value, id);
  searchedBy(el, id, done.typed);
  return happened({
    kind: 'entered', place, candidates: lasting(candidates, el), facts: done.facts, value, typed: done.typed,
    before: done.before.replace(/[\ufeff\u200b]/g, '').trim() !== '',
    ...(tookIt === null ? {} : { ended_by: tookIt, shown: now === '' || !isShown(el) ? shownInstead(done, value) : [] }),
  }, { id, at, replaces: done.replaces ?? [] });
};
// Where a text stands that a key took out of its field.
const shownInstead = (from, text) => {
  const shows = standsIn(from, text, from.el);
  return shows === null ? [] : waysToWhatShows(shows, from, text);
};
// The ways that still lead to the element once it was changed, if any do.
const lasting = (candidates, el) => {
  if (!el.isConnected) return candidates;
  const now = new Set(candidatesFor(el, lookNow()).map(it => JSON.stringify(it.target)));
  const kept = candidates.filter(it => now.has(JSON.stringify(it.target)));
  return kept.some(it => it.matches === 1) ? kept : candidates;
};
const again = done => Object.assign({}, done, { id: newId(), edited: false, key: null, clicks: [], told: undefined });

const selectionOf = el => {
  if (!isTyped(el) || el.selectionStart === null) return { whole: false, atEnd: false };
  const { selectionStart: from, selectionEnd: to, value } = el;
  return { whole: from === 0 && to === value.length, atEnd: from === to && to === value.length };
};
const keysWrote = (typed, { type, data, whole, atEnd }, now) => {
  const isInsert = type.startsWith('insert') && type !== 'insertCompositionText' && type !== 'insertReplacementText';
  const text = type === 'insertLineBreak' || type === 'insertParagraph' ? '\n' : data;
  if (isInsert && text !== null && whole) return text;
  if (isInsert && text !== null && atEnd) return typed + text;
  if (type.startsWith('delete') && whole) return '';
  if (type === 'deleteContentBackward' && atEnd) return Array.from(typed).slice(0, -1).join('');
  return now;
};
const onBeforeInput = event => {
  const el = hostOf(target(event));
  if (el === null || !event.isTrusted) return;
  const editing = begin(el);
  if (editing.secret) return;
  const data = event.data ?? event.dataTransfer?.getData('text/plain') ?? null;
  editing.pending = { type: event.inputType, data, ...selectionOf(el) };
};
const onInput = event => {
  const el = hostOf(target(event));
  if (el === null || !(event.isTrusted || event.composed)) return;
  const editing = begin(el);
  editing.edited = true;
  editing.key = null;
  if (editing.secret) return;
  editing.last = held(el);
  editing.typed = keysWrote(editing.typed, editing.pending ?? { type: '', data: null }, editing.last);
  editing.pending = null;
};
const onFocusIn = event => {
  const el = hostOf(target(event));
  if (el !== null && isShown(el) && !isSliver(el)) begin(el);
};
const onFocusOut = event => {
  if (session?.el === hostOf(target(event))) finish();
};
// A field whose text a widget changed after a click in something that had opened for it.
const picked = () => {
  for (const done of [...recent, ...(session?.secret === false ? [session] : [])]) {
    if (done.clicks.length === 0 || !done.el.isConnected) continue;
    const value = held(done.el);
    if (value === '' || value === (done.told ?? (done.edited ? done.last : done.before))) continue;
    const next = again(done);
    next.replaces = [...done.clicks, ...(done.told === undefined ? [] : [done.id])];
    next.typed = done.edited ? done.typed : '';
    next.last = value;
    tellField(next, Date.now(), null);
    Object.assign(done, { id: next.id, told: value, clicks: [], edited: false, before: value });
  }
};

// Choosing

const onChange = event => {
  const el = target(event);
  if (!(event.isTrusted || event.composed || isShown(el))) return;
  if (event.isTrusted) changed = el;
  if (el.tagName === 'SELECT' && isShown(el)) choseNative(el);
  else if (el.type === 'radio' && el === pressedBox) choseRadio(el);
  else if (el.type === 'checkbox' && el === pressedBox) checkedBox(el, el.checked);
  else if (el.type === 'file') {
    const look = lookNow();
    happened({ kind: 'uploaded', place: placeOf(look), candidates: candidatesFor(el, look) });
  }
};
const chosenBefore = new WeakMap();
const choseNative = el => {
  const chosen = Array.from(el.selectedOptions, option => option.label);
  const fresh = el.multiple ? chosen.filter(label => !(chosenBefore.get(el) ?? []).includes(label)) : chosen.slice(0, 1);
  chosenBefore.set(el, chosen);
  fresh.forEach(value => choose(el, value, candidatesFor(el, lookNow())));
};
const choseRadio = el => choose(el, nameOf(el), groupCandidates(el, lookNow()));
const choose = (el, value, candidates) => {
  finish();
  settle();
  const id = happened({ kind: 'chose', place: placeOf(lookNow()), candidates, facts: factsOf(el), value });
  knowExactly(value, id);
};
// The change of a box that a script clicked looks as if a person had made it: only a box that was clicked is told. A
// page may hold back the change, too, and set the box itself afterwards.
let pressedBox = null;
let changed = null;
const boxClicked = el => {
  const was = !el.checked;
  const name = nameOf(el);
  pressedBox = el;
  changed = null;
  later(() => {
    const now = el.isConnected ? el : everything(document).find(it => it.type === el.type && nameOf(it) === name);
    if (changed === el || !now || now.checked === was) return;
    if (now.type === 'radio') choseRadio(now);
    else checkedBox(now, now.checked);
  });
};
const checkedBox = (el, checked) => {
  finish();
  settle();
  const look = lookNow();
  const visible = isShown(el) ? el : Array.from(el.labels ?? []).find(isShown) ?? el;
  const candidates = candidatesFor(el, look).concat(visible === el ? [] : candidatesFor(visible, look)).slice(0, MOST_WAYS);
  const id = happened({ kind: 'checked', place: placeOf(look), candidates, facts: factsOf(el), checked });
  know(boxForms(candidates, checked).map(form => [form, id, 'choice', 'yyyy-mm-dd']));
};

// Clicking

let down = null;
let opener = null;
const target = event => event.composedPath()[0] ?? event.target;
const ACTORS = 'button, a[href], area[href], summary, input[type=submit], input[type=button], input[type=image], ' +
  'input[type=reset], [role=button], [role=link], [role=tab], [role=menuitem], [role=menuitemradio], ' +
  '[role=menuitemcheckbox], [role=option], [role=checkbox], [role=switch], [role=radio], [role=treeitem], ' +
  '[role=combobox], [aria-haspopup], [onclick]';
const OPTION = '[role=option], [role=menuitemradio]';
const climb = (el, css) => {
  for (let at = el; at; at = parentOf(at)) if (at.matches(css)) return at;
  return null;
};
const stateOf = box => box?.getAttribute('aria-checked') ?? box?.getAttribute('aria-pressed') ?? null;
const actorOf = el => {
  const actor = climb(el, ACTORS);
  if (actor !== null) return actor;
  let pointed = null;
  for (let at = el; at && at !== document.body && getComputedStyle(at).cursor === 'pointer'; at = parentOf(at)) pointed = at;
  return pointed;
};
const NO_OPTION = 'button, a[href]:not([href="#"]):not([href^="javascript:"]), input, select, textarea, label, [role=button], ' +
  '[contenteditable]';
// The whole option in something that has opened: a child of the list, one of several.
const optionAt = el => {
  const given = climb(el, OPTION);
  if (given !== null) return given;
  if (opener === null) return null;
  const popup = inAppeared(el);
  if (popup === null || climb(el, NO_OPTION) || Array.from(popup.querySelectorAll(FIELDS)).filter(isShown).length > 1) return null;
  const item = climb(el, 'li, tr');
  if (item !== null && popup.contains(item)) return item;
  for (let at = el; at !== popup; at = parentOf(at)) if (isOneOfSeveral(at)) return at;
  return el;
};
const isOneOfSeveral = el => {
  const like = Array.from(el.parentElement?.children ?? []).filter(it => it.tagName === el.tagName && it.classList[0] === el.classList[0]);
  return el.classList.length > 0 && like.length > 1;
};
const clickedAction = (el, look) => {
  const role = roleOf(el);
  const control = { button: 'button', link: 'link', tab: 'button', menuitem: 'button', option: 'list' }[role] ?? 'other';
  const row = dataRowOf(el);
  const cells = row === null ? [] : cellsOf(row, look);
  return {
    kind: 'clicked', place: placeOf(look), candidates: candidatesFor(el, look), facts: factsOf(el, control),
    row: cells, headers: cells.length ? headersOf(row).slice(0, 40) : [],
  };
};
// A row that holds nothing but things to click is no record.
const dataRowOf = el => {
  const row = rowOf(el);
  if (row === null) return null;
  const clickable = Array.from(row.querySelectorAll(ACTORS));
  const texts = everything(row).filter(it => squash(it.textContent) && !clickable.some(one => one.contains(it) || it.contains(one)));
  return texts.length ? row : null;
};
// The cells of a row that no other row has: by them the row is known.
const keysOf = (el, look) => {
  const row = dataRowOf(el);
  const cells = row === null ? [] : cellsOf(row, look).map((text, at) => [text, at]);
  return cells.filter(([text]) => text && rowsWith(text, look).length === 1).map(([, at]) => at);
};
const onPointerDown = event => {
  if (!event.isTrusted || event.button !== 0) return;
  settle();
  if (session !== null && !session.secret && session.edited) knowExactly(session.last, session.id);
  const el = target(event);
  down = pressedOn(el);
  // In a list that has opened, and in its search box, what opened it still counts.
  const isInList = opener !== null && inAppeared(el) !== null && (optionAt(el) !== null || hostOf(el) !== null);
  if (!isInList) {
    before = shownNow();
  }
  if (down !== null) down.changes = changes;
};
const pressedOn = el => {
  const look = lookNow();
  const option = optionAt(el);
  const actor = hostOf(el) ?? climb(el, OPTION) ?? actorOf(el) ?? option;
  if (actor === null || actor.matches('select, option, input[type=checkbox], input[type=radio], input[type=file]')) return null;
  const label = climb(el, 'label');
  if (label?.control && label.control !== actor && !actor.matches(ACTORS)) return null;
  const isField = hostOf(el) !== null;
  const checked = stateOf(climb(actor, BOXES));
  return {
    el, actor, option, isField, checked, action: clickedAction(actor, look), page: isField ? null : pageSeen(look),
    keys: keysOf(actor, look),
    stood: option !== null && opener !== null && standsIn(opener, optionText(option), option) !== null,
    text: option === null ? '' : optionText(option), options: option === null ? [] : optionsBeside(option),
  };
};
const optionText = el => elements.choices([el])[0] || squash(el.innerText ?? '');
const optionsBeside = el => {
  const list = el.closest('[role=listbox], [role=menu], [role=tree], ul, ol');
  const given = Array.from(list?.querySelectorAll(OPTION) ?? []);
  const options = given.includes(el) ? given : Array.from(el.parentElement?.children ?? []).filter(it => it.tagName === el.tagName);
  return options.filter(isShown).map(optionText).filter(text => text && text.length <= 2000).slice(0, 500);
};
const onPointerUp = event => {
  // Where a page acts before the click and puts something under the pointer, or takes away what was pressed, no click
  // comes: the press was all there is.
  const pressed = down;
  if (pressed === null || !event.isTrusted) return;
  const at = Date.now();
  const hasReacted = () => {
    note(observer.takeRecords());
    return changes !== pressed.changes || !isShown(pressed.actor);
  };
  later(() => down === pressed && hasReacted() && clicked(pressed, 1, at));
};
const onClick = event => {
  if (!event.isTrusted) return;
  const el = target(event);
  const pressed = event.detail > 0 && isEndOf(down, el) ? down : null;
  if (el.matches('input[type=checkbox], input[type=radio]')) boxClicked(el);
  if (event.detail === 0 && entering !== null && el.form === entering.el.form) entering.key = null;
  if (pressed === null && (event.detail > 0 ? climb(el, 'label') : false)) return;
  const found = pressed ?? pressedOn(el);
  if (found !== null) clicked(found, event.detail);
};
// Where a page lays something over what was pressed, the click is given to what holds both.
const isEndOf = (pressed, el) => {
  if (pressed === null) return false;
  return pressed.el === el || pressed.actor.contains(el) || (el.contains(pressed.actor) && changes !== pressed.changes);
};
let lastClick = null;
const clicked = (pressed, detail, at = null) => {
  down = null;
  const { actor, action, isField } = pressed;
  // What is told late was before the field that is being edited now.
  if (at === null && !actor.contains(session?.el ?? null)) finish();
  settle();
  if (detail > 1 && lastClick?.actor === actor && Date.now() - lastClick.at < 1000 && !isField) {
    lastClick.clicks += 1;
    tell({ kind: 'again', id: lastClick.id, clicks: lastClick.clicks });
    return;
  }
  if (!isField) tellHumanCheck(actor);
  if (pressed.page !== null) tell({ kind: 'page', at: at ?? Date.now(), page: pressed.page });
  const id = happened(action, { at: at ?? Date.now(), soft: isField, keys: pressed.keys });
  if (!isField) lastClick = { id, actor, at: Date.now(), clicks: 1 };
  action.row.forEach((text, at) => pressed.keys.includes(at) && knowExactly(text, `${id}/${at}`));
  if (inAppeared(actor)) [...recent, ...(session ? [session] : [])].forEach(done => done.clicks.push(id));
  later(picked);
  if (pressed.checked !== null) later(() => turned(pressed, id));
  else if (pressed.option !== null && opener !== null) later(() => taken(pressed, id, opener));
  if (pressed.option === null && !(opener !== null && inAppeared(actor) && isField)) opens(pressed, id);
};
// What holds no other field: in it stands what was chosen or entered here.
const aroundOf = el => {
  const around = [];
  for (let at = el; at && at !== document.body && around.length < 10 && isAlone(el, at); at = parentOf(at)) around.push(at);
  return around;
};
const opens = ({ actor, action }, ...ids) => {
  opener = { ids, el: actor, around: aroundOf(actor), action, searched: false, typed: '', text: optionText(actor), caption: short(captionBeside(actor)) };
};
const searchedBy = (el, id, typed) => {
  if (opener === null || !(opener.el === el || opener.el.contains(el) || el.contains(opener.el) || inAppeared(el))) return;
  opener.ids.push(id);
  opener.searched = true;
  opener.typed = typed;
};
const turned = ({ actor, checked, action }, id) => {
  const box = climb(actor, BOXES);
  const now = stateOf(box) ?? String(checked !== 'true');
  if (now === checked) return;
  const { place, facts } = action;
  const candidates = lasting(action.candidates, box);
  const told = happened({ kind: 'checked', place, candidates, facts: { ...facts, control: 'checkbox' }, checked: now === 'true' }, { replaces: [id] });
  know(boxForms(candidates, now === 'true').map(form => [form, told, 'choice', 'yyyy-mm-dd']));
};
// An option was taken when its text has come to stand in what opened the list, or beside it.
const taken = ({ option, text, options, stood }, id, from) => {
  if (text === '' || text.length > 2000) return;
  const shows = standsIn(from, text, option);
  const isOver = !stood || !isShown(option) || option.getAttribute('aria-selected') === 'true';
  if (shows === null || !isOver) return;
  const { place, candidates, facts } = from.action;
  const chosen = happened({
    kind: 'chose', place, candidates: waysToOpen(candidates, from, text),
    facts: { ...facts, control: 'list', options, caption: from.caption || facts.caption }, value: text, searched: from.searched, typed: from.typed,
    shown: shows === from.el ? [] : waysToWhatShows(shows, from, text),
  }, { replaces: [...from.ids, id] });
  knowExactly(text, chosen);
  if (opener === from) opener = null;
};
// What holds nothing but the opener can stand for it.
const waysToOpen = (candidates, from, text) => {
  const isPassing = ({ target }) => [text, from.text].includes(target.name) || (target.kind === 'role' && isNamedByContent(from.el));
  const all = [...candidates.filter(it => !isPassing(it)), ...waysAround(from)];
  return [...all.filter(it => it.matches === 1), ...all.filter(it => it.matches !== 1)].slice(0, MOST_WAYS);
};
const waysAround = from => {
  const names = from.around.slice(1).filter(it => it.isConnected).flatMap(it => candidatesFor(it, lookNow()));
  const used = new Set(from.action.candidates.map(it => JSON.stringify(it.target)));
  const steady = names.filter(({ target, matches }) => matches === 1 && (target.kind === 'test_id' || ['id', 'name'].includes(target.attribute)));
  return steady.filter(it => !used.has(JSON.stringify(it.target)));
};
const says = (el, text) => isShown(el) && (elements.choices([el])[0] === text || squash(held(el)) === text);
const standsIn = (from, text, option) => {
  if (from.el.isConnected && says(from.el, text)) return from.el;
  for (const place of from.around.filter(it => it.isConnected)) {
    const saying = everything(place).filter(el => !option.contains(el) && !el.contains(option) && !el.matches('option, select') && says(el, text));
    if (saying.length) return saying.find(el => !saying.some(other => other !== el && el.contains(other))) ?? saying[0];
  }
  return null;
};
// What shows the choice is often made for it, without a name: what holds nothing else shows it as well.
const waysToWhatShows = (shows, from, text) => {
  const ways = [];
  const look = lookNow();
  // A caption means the control beside it, which may stand in what shows the choice without showing it.
  const fits = ({ kind, name }) => name !== text && (kind !== 'caption' || look.captioned(name).every(el => says(el, text)));
  for (let at = shows; at && from.around.some(it => it.contains(at)) && says(at, text); at = parentOf(at)) {
    ways.push(...candidatesFor(at, look).filter(it => it.matches === 1 && fits(it.target)));
  }
  return ways.slice(0, MOST_WAYS);
};

// Keys

let entering = null;
const EDITING = ['a', 'c', 'v', 'x', 'z', 'y', 'ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End', 'Backspace', 'Delete', 'Insert'];
const MOVING = ['Tab', 'ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End', 'PageUp', 'PageDown', 'Shift', 'Control', 'Alt',
  'Meta', 'AltGraph', 'CapsLock', 'F5', 'F11', 'F12', 'Dead', 'Process'];
const ENDS = { Enter: 'enter', Tab: 'tab', Escape: 'escape' };
const onKeyDown = event => {
  if (!event.isTrusted || event.isComposing) return;
  const el = target(event);
  const field = hostOf(el);
  const isShortcut = (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState('AltGraph');
  if (isShortcut) {
    if (!EDITING.includes(event.key) && !MOVING.includes(event.key)) pressedKey(event, el);
  } else if (field !== null) {
    if (event.key in ENDS) endedBy(event, field);
  } else if (!MOVING.includes(event.key) && !(['Enter', ' '].includes(event.key) && climb(el, `${ACTORS}, select, input`))) {
    pressedKey(event, el);
  }
};
const endedBy = (event, field) => {
  if (event.key === 'Enter' && highlighted(field) !== null && choseByKey(field)) return;
  if (session?.el !== field || !session.edited) {
    if (event.key === 'Enter' && field.tagName === 'INPUT') pressedKey(event, field);
    return;
  }
  session.key = ENDS[event.key];
  if (event.key !== 'Enter' || field.tagName !== 'INPUT' || session.secret) return;
  const done = session;
  session = again(done);
  Object.assign(session, { before: done.last, typed: done.last });
  entering = { el: field, key: 'enter' };
  const mine = entering;
  const at = Date.now();
  later(() => {
    if (entering === mine) entering = null;
    tellField(done, at, mine.key);
  });
};
const highlighted = field => {
  const by = field.getAttribute('aria-activedescendant');
  const active = by ? field.getRootNode().getElementById(by) : null;
  return active !== null && isShown(active) ? active : null;
};
const choseByKey = field => {
  const option = climb(highlighted(field), OPTION) ?? highlighted(field);
  const look = lookNow();
  if (opener === null) opens({ actor: field, action: clickedAction(field, look) });
  if (session?.el === field && session.edited) {
    tellField(session, Date.now(), null);
    session = again(session);
  }
  const pressed = { option, text: optionText(option), options: optionsBeside(option) };
  const from = opener;
  later(() => taken(pressed, newId(), from));
  return true;
};
const MODIFIERS = [['ctrlKey', 'Control'], ['altKey', 'Alt'], ['metaKey', 'Meta'], ['shiftKey', 'Shift']];
const pressedKey = (event, el) => {
  if (session !== null && session.edited) {
    const done = session;
    session = again(done);
    leave(done, null);
  }
  settle();
  const look = lookNow();
  const held = MODIFIERS.filter(([flag, name]) => event[flag] && !(name === 'Shift' && event.key.length === 1)).map(([, name]) => name);
  const page = pageSeen(look);
  tell({ kind: 'page', at: Date.now(), page });
  const candidates = el === document.body || el === document.documentElement ? [] : candidatesFor(el, look);
  const id = happened({ kind: 'pressed', place: page.place, candidates, key: [...held, event.key].join('+') }, { soft: true });
  const before = changes;
  const place = location.href;
  const keep = () => tell({ kind: 'keep', id });
  const wasEntering = event.key === 'Enter' && entering === null ? (entering = { el, key: 'enter' }) : null;
  later(() => {
    const isClick = wasEntering !== null && wasEntering.key === null;
    if (entering === wasEntering) entering = null;
    if (!isClick && (event.defaultPrevented || changes !== before || location.href !== place || leaving)) keep();
  });
};

// Pages that come and go

let leaving = false;
let resting = null;
const restLater = () => {
  if (window !== window.top) return;
  clearTimeout(resting);
  resting = setTimeout(() => known.size > 0 && tellPage(), 1500);
};
const tellPage = () => {
  if (window === outermost()) tell({ kind: 'page', at: Date.now(), page: pageSeen(lookNow()) });
};
const onSubmit = event => {
  const { name, value } = event.submitter ?? {};
  if (name) tell({ kind: 'submitted', at: Date.now(), name: name.slice(0, 200), value: (value ?? '').slice(0, 200) });
};
const goAway = () => {
  leaving = true;
  finish();
  settle();
  tellPage();
  leaving = false;
};
const onNavigate = event => {
  if (event.destination.sameDocument || !event.hashChange) goAway();
};
const onMoved = event => {
  if (event.navigationType === null || event.from?.url === location.href) return;
  tell({ kind: 'moved', at: Date.now(), back: event.navigationType === 'traverse', place: placeOf(null) });
  currentLook = null;
  before = null;
  restLater();
};
const HUMAN_CHECK = /(^|\.)(hcaptcha\.com|arkoselabs\.com|funcaptcha\.com|challenges\.cloudflare\.com|friendlycaptcha\.com|geetest\.com)$|^www\.(google|recaptcha)\.(com|net)$/;
// A form that asks whether a person is there; a badge, and what asks without being seen, ask nobody.
const HUMAN_CHECKS = '.g-recaptcha, .h-captcha, .cf-turnstile, iframe[src*="/recaptcha/"], iframe[src*="hcaptcha.com/"], ' +
  'iframe[src*="challenges.cloudflare.com/"]';
let checkTold = false;
const tellHumanCheck = actor => {
  const around = actor.form ?? actor.closest('form') ?? (actor.matches('a[href]') ? null : document);
  const asks = it => it.dataset.size !== 'invisible' && !it.closest('.grecaptcha-badge') && !isGone(it);
  if (checkTold || !Array.from(around?.querySelectorAll(HUMAN_CHECKS) ?? []).some(asks)) return;
  checkTold = true;
  happened({ kind: 'happened', what: 'human_check' });
};
const onBlur = () => {
  const frame = document.activeElement;
  if (frame?.tagName !== 'IFRAME') return;
  const address = URL.canParse(frame.src) ? new URL(frame.src) : null;
  const isCheck = address !== null && HUMAN_CHECK.test(address.hostname) && (!/^www\./.test(address.hostname) || address.pathname.startsWith('/recaptcha'));
  if (isCheck || frame.closest('.g-recaptcha, .h-captcha, .cf-turnstile')) happened({ kind: 'happened', what: 'human_check' });
};

const watch = (place, type, listener) => {
  const guarded = event => {
    try {
      listener(event);
    } catch (error) {
      tell({ kind: 'failed', at: Date.now() });
    }
  };
  place?.addEventListener(type, guarded, { capture: true, passive: true });
};
const LISTENERS = {
  focusin: onFocusIn, focusout: onFocusOut, beforeinput: onBeforeInput, input: onInput, change: onChange, submit: onSubmit,
  pointerdown: onPointerDown, pointerup: onPointerUp, click: onClick, keydown: onKeyDown, beforeunload: goAway,
};
for (const [type, listener] of Object.entries(LISTENERS)) watch(window, type, listener);
window.addEventListener('blur', () => setTimeout(onBlur, 0));
if (window === outermost()) {
  watch(window.navigation, 'navigate', onNavigate);
  watch(window.navigation, 'currententrychange', onMoved);
  const how = performance.getEntriesByType('navigation')[0]?.type ?? 'navigate';
  const began = Date.now();
  const arrive = () => tell({ kind: 'began', at: began, how, place: placeOf(lookNow()) });
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', arrive, { once: true });
  else arrive();
}
window[FACE] = {
  know, settle: settleHere, showings: () => seen(lookNow()),
  flush: () => {
    finish();
    settle();
    tellPage();
  },
};
