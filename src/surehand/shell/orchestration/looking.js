// The nodes of a page for whoever works on a goal there: what each is, what it is called, and what it holds or shows.
//
// Laws of this file:
// - It is the end of a function's body that is given the most nodes to tell, and whether some were told before it.
// - A field that hides what is typed is no node: it is not told, not read and not typed into.
// - The elements themselves stay in the page, in the order of what is told about them. How one is found is asked when
//   it is acted on, and only an exact way to it alone counts.
// - Nothing is changed on the page.

const look = new Look();
const LONGEST_VALUE = 20000;
const USED = new Set(['button', 'checkbox', 'combobox', 'heading', 'link', 'listbox', 'menuitem', 'menuitemcheckbox',
  'menuitemradio', 'option', 'radio', 'searchbox', 'slider', 'spinbutton', 'switch', 'tab', 'textbox', 'treeitem']);
const told = (text, most) => text.slice(0, most).toWellFormed();
const hasOwnText = el => Array.from(el.childNodes).some(node => node.nodeType === 3 && node.data.trim() !== '');
const isInside = (el, set) => {
  for (let at = parentOf(el); at; at = parentOf(at)) if (set.has(at)) return true;
  return false;
};
const isOption = el => el.tagName === 'OPTION' && el.closest('select') !== null && isShown(el.closest('select'));

// Whether an element stands among others of its kind, each of which may be somebody's; what is there to move about in
// the app is not meant.
const LISTING = new Set(['grid', 'list', 'listbox', 'listitem', 'row', 'rowgroup', 'table', 'tree', 'treegrid']);
const isListed = el => {
  let found = false;
  for (let at = parentOf(el); at; at = parentOf(at)) {
    const role = roleOf(at);
    if (role === 'navigation') return false;
    found ||= LISTING.has(role);
  }
  return found;
};

const roleToTell = el => {
  if (el.isContentEditable) return isEditingHost(el) ? 'textbox' : '';
  const role = roleOf(el);
  if (USED.has(role)) return role;
  if (!hasOwnText(el)) return '';
  return /^[a-z]{1,30}$/.test(role) && role !== 'presentation' && role !== 'none' ? role : 'text';
};

const nodes = [];
const facts = [];
const used = new Set();
for (const el of look.all) {
  if (nodes.length >= most) break;
  const role = isOutOfTree(el) || !(look.shows(el) || isOption(el)) || isSecret(el) ? '' : roleToTell(el);
  // What a control is made of is told by the control.
  if (role === '' || (isInside(el, used) && !USED.has(role))) continue;
  if (USED.has(role) && role !== 'heading' && role !== 'listbox') used.add(el);
  nodes.push(el);
  const value = isOption(el) ? '' : elements.values([el])[0];
  const name = told(squash(look.name(el)), 200);
  facts.push({ role, name, value: told(value, LONGEST_VALUE), is_listed: isListed(el) });
}

const valueOf = at => {
  const el = nodes[at];
  return el.isConnected && !isSecret(el) ? elements.values([el]) : [];
};
const controlOf = el => (el.tagName === 'SELECT' ? 'select' : el.matches('input[type=radio], [role=radiogroup]') ? 'radio' : 'list');
const wayTo = at => {
  const el = nodes[at];
  if (!el.isConnected || isSecret(el)) return { control: 'list', matches: 0 };
  const found = candidatesFor(el, new Look());
  const only = found.find(one => one.matches === 1);
  return { control: controlOf(el), matches: only ? 1 : 2, ...(only ? { target: only.target } : {}) };
};
return { facts, valueOf, wayTo };
