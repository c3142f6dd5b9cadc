// The nodes of a page for an agent that shows a task: what each is, never what it says or holds.
//
// Laws of this file:
// - It is the end of a function's body that is given the roles and controls which may be told; nothing else is told.
// - The elements themselves stay in the page, in the order of what is told about them.
// - Nothing is changed on the page.

const DATES = ['date', 'time', 'datetime-local', 'month', 'week'];
const UNTYPED = { checkbox: 'checkbox', radio: 'radio', file: 'file', range: 'number', number: 'number' };
const controlFor = (el, role) => {
  if (isSecret(el)) return 'secret';
  if (el.tagName === 'SELECT') return 'select';
  if (el.tagName === 'TEXTAREA') return 'text';
  if (el.tagName === 'INPUT' && role !== 'button') return DATES.includes(el.type) ? 'date' : UNTYPED[el.type] ?? 'line';
  if (el.isContentEditable) return 'editable';
  return { button: 'button', link: 'link', option: 'list' }[role];
};
const statesOf = (el, role) => [
  [el.disabled === true || el.getAttribute('aria-disabled') === 'true', 'disabled'],
  [document.activeElement === el, 'focused'],
  [el.required === true || el.getAttribute('aria-required') === 'true', 'required'],
  [el.getAttribute('aria-expanded') === 'true', 'expanded'],
  [role === 'button' && el.type === 'submit' && el.form !== null, 'submits'],
].filter(([holds]) => holds).map(([, state]) => state);
// A box that is not shown itself is clicked at its label.
const handleOf = el => (el.checkVisibility({ visibilityProperty: true }) ? el : Array.from(el.labels ?? []).find(isShown) ?? el);

const nodes = [];
const facts = [];
const tell = (el, parent) => {
  const role = isEditingHost(el) && !roles.includes(roleOf(el)) ? 'textbox' : roleOf(el);
  const isFile = el.tagName === 'INPUT' && el.type === 'file';
  if (!(roles.includes(role) && isShown(el)) || el.tagName === 'OPTION' || nodes.length >= most) return parent;
  const { left, top, width, height } = handleOf(el).getBoundingClientRect();
  const [x, y, w, h] = [left, top, width, height].map(it => Math.max(-99999, Math.min(99999, Math.round(it))));
  const control = isFile ? 'file' : controlFor(el, role);
  nodes.push(handleOf(el));
  facts.push({
    role, states: statesOf(el, role), left: x, top: y, width: w, height: h,
    ...(parent === null ? {} : { parent }), ...(controls.includes(control) ? { control } : {}),
  });
  return nodes.length - 1;
};
const walk = (place, parent) => {
  for (const el of place.children) {
    const at = tell(el, parent);
    walk(el, at);
    if (el.shadowRoot) walk(el.shadowRoot, at);
  }
};
walk(document, null);
return { nodes, facts };
