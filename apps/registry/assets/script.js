// @ts-check
// Optional enhancements: every page works without this script.

document.documentElement.classList.add('scripted');

/** Remembers a choice in this browser, if it permits that. @param {string} name @param {string} value */
function remember(name, value) {
  try {
    localStorage.setItem(`krmhub-${name}`, value);
  } catch {
    // The choice is for this page only.
  }
}

/** Returns a remembered choice. @param {string} name */
function recall(name) {
  try {
    return localStorage.getItem(`krmhub-${name}`) ?? '';
  } catch {
    return '';
  }
}

const theme = document.getElementById('theme');
if (theme instanceof HTMLSelectElement) {
  theme.value = document.documentElement.dataset.theme ?? '';
  theme.parentElement?.removeAttribute('hidden');
  theme.addEventListener('change', () => {
    if (theme.value === '') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme.value;
    remember('theme', theme.value);
  });
}

// The tool that was chosen on another page.
for (const choice of document.querySelectorAll('.choice-tabs > input')) {
  const input = /** @type {HTMLInputElement} */ (choice);
  if (input.id === recall(input.name)) input.checked = true;
  input.addEventListener('change', () => remember(input.name, input.id));
}

const announcer = document.getElementById('announcer');

/** Announces a text to screen readers. @param {string} text */
function announce(text) {
  if (announcer === null) return;
  announcer.textContent = '';
  // Screen readers announce the same text again only if it was removed meanwhile.
  setTimeout(() => {
    announcer.textContent = text;
  }, 50);
}

/** Copies a text. @param {string} text @returns {Promise<boolean>} false if the browser does not permit it */
async function copy(text) {
  // Browsers have a clipboard API only on https and localhost.
  if (navigator.clipboard === undefined) return copySelected(text);
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => copySelected(text),
  );
}

/** Copies a text by selecting it in a field. @param {string} text */
function copySelected(text) {
  const before = /** @type {HTMLElement | null} */ (document.activeElement);
  const field = document.createElement('textarea');
  field.className = 'unseen';
  field.value = text;
  field.readOnly = true;
  document.body.append(field);
  field.select();
  const copied = document.execCommand('copy');
  field.remove();
  before?.focus();
  return copied;
}

/** Adds a copy button. @param {HTMLElement} snippet with its text in `code`, and its label in `data-copy` */
function addCopyButton(snippet) {
  const code = snippet.querySelector('code');
  if (code === null) return;
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', `Copy: ${snippet.dataset.copy}`);
  button.addEventListener('click', async () => {
    const copied = await copy(code.textContent ?? '');
    button.textContent = copied ? 'Copied' : 'Not copied';
    announce(copied ? `Copied: ${snippet.dataset.copy}` : 'The browser does not permit copying');
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  snippet.classList.add('copyable');
  const text = snippet.querySelector('pre');
  if (text === null) snippet.append(button);
  else snippet.insertBefore(button, text);
}

/**
 * Makes a search box a combobox that suggests functions (ARIA 1.2, list autocomplete with manual selection).
 * @param {HTMLInputElement} input with the address of the suggestions in `data-suggestions`
 */
function addSuggestions(input) {
  const list = document.createElement('ul');
  list.className = 'suggestions';
  list.id = `${input.id}-suggestions`;
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'Functions');
  list.hidden = true;
  input.after(list);
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-autocomplete': 'list',
    'aria-controls': list.id,
    'aria-expanded': 'false',
  })) {
    input.setAttribute(name, value);
  }
  /** Paths of the suggestions: a registry may have more addresses than its public URL. @type {string[]} */
  let addresses = [];
  let selected = -1;
  let timer = 0;
  /** @type {AbortController | undefined} */
  let pending;

  /** @param {number} at -1 for none */
  const select = (at) => {
    selected = at;
    for (const [index, option] of [...list.children].entries()) {
      option.setAttribute('aria-selected', String(index === at));
      if (index === at) option.scrollIntoView({ block: 'nearest' });
    }
    if (at < 0) input.removeAttribute('aria-activedescendant');
    else input.setAttribute('aria-activedescendant', `${list.id}-${at}`);
  };

  /** @param {[string, string[], string[], string[]]} response in the format of OpenSearch */
  const show = ([, names, descriptions, urls]) => {
    addresses = urls.map((url) => new URL(url, location.href).pathname);
    list.replaceChildren(
      ...names.map((name, at) => {
        const option = document.createElement('li');
        option.id = `${list.id}-${at}`;
        option.setAttribute('role', 'option');
        const description = document.createElement('span');
        description.textContent = descriptions[at] ?? '';
        // A line breaks between the group and the kind.
        const [group = '', kind] = name.split('/');
        option.append(
          ...(kind === undefined ? [name] : [`${group}/`, document.createElement('wbr'), kind]),
          description,
        );
        return option;
      }),
    );
    list.hidden = names.length === 0;
    input.setAttribute('aria-expanded', String(!list.hidden));
    select(-1);
    if (!list.hidden) announce(names.length === 1 ? '1 suggestion' : `${names.length} suggestions`);
  };

  const hide = () => {
    clearTimeout(timer);
    pending?.abort();
    show(['', [], [], []]);
  };

  const ask = async () => {
    const text = input.value.trim();
    if (text.length < 2) return hide();
    pending?.abort();
    pending = new AbortController();
    try {
      const query = new URLSearchParams({ q: text });
      const response = await fetch(`${input.dataset.suggestions}?${query}`, { signal: pending.signal });
      if (response.ok && document.activeElement === input) show(await response.json());
    } catch {
      // The form still works without suggestions.
    }
  };

  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 120);
  });
  input.addEventListener('blur', hide);
  input.addEventListener('keydown', (event) => {
    const count = addresses.length;
    if (event.key === 'Escape' && !list.hidden) {
      event.preventDefault();
      hide();
    } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && count > 0) {
      event.preventDefault();
      // One position more than there are suggestions: the text itself.
      const step = event.key === 'ArrowDown' ? 1 : count;
      select(((selected + 1 + step) % (count + 1)) - 1);
    } else if (event.key === 'ArrowDown') {
      ask();
    } else if (event.key === 'Enter' && selected >= 0) {
      event.preventDefault();
      location.assign(addresses[selected] ?? '');
    }
  });
  // Not `click`: the box would lose the focus first, which hides the list.
  list.addEventListener('mousedown', (event) => {
    event.preventDefault();
    const at = [...list.children].findIndex((option) => option.contains(/** @type {Node} */ (event.target)));
    if (event.button === 0 && at >= 0) location.assign(addresses[at] ?? '');
  });
}

/** Focuses the search box of the page, or of its header if the page has none. */
function focusSearch() {
  const boxes = /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('[data-suggestions]'));
  const box = [...boxes].at(-1);
  box?.focus();
  box?.select();
}

document.addEventListener('keydown', (event) => {
  const isTyping =
    event.target instanceof Element && event.target.closest('input, textarea, select') !== null;
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  focusSearch();
});

for (const snippet of document.querySelectorAll('[data-copy]')) {
  addCopyButton(/** @type {HTMLElement} */ (snippet));
}
for (const input of document.querySelectorAll('[data-suggestions]')) {
  addSuggestions(/** @type {HTMLInputElement} */ (input));
}
/** Follows a fragment of an earlier address to the tab that has it now, or chooses the part that it names. */
function followFragment() {
  let fragment = '';
  try {
    fragment = decodeURIComponent(location.hash.slice(1));
  } catch {
    // Not an encoded fragment of this site.
  }
  if (fragment === '') return;
  const target = document.getElementById(fragment);
  if (target instanceof HTMLAnchorElement && target.dataset.moved !== undefined) {
    location.replace(target.href);
    return;
  }
  if (target instanceof HTMLLabelElement) {
    target.click();
    return;
  }
  const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (
    document.querySelectorAll('.tabs a:not([aria-current])')
  );
  for (const link of links) {
    const start = link.dataset.fragments;
    if (link === target || (target === null && start !== undefined && fragment.startsWith(start))) {
      location.replace(link.href + location.hash);
      return;
    }
  }
}
followFragment();
addEventListener('hashchange', followFragment);
// Fills in the address of a registry that does not know its own.
for (const element of document.querySelectorAll('[data-registry]')) {
  const { registry } = /** @type {HTMLElement} */ (element).dataset;
  element.textContent = registry === 'host' ? location.host : location.origin;
}

/** Adds the button that loads "Try it". @param {HTMLElement} section with the paths in `data-try` and `data-try-script` */
function addTryIt(section) {
  const { tryScript = '', tryLabel = '' } = section.dataset;
  const start = document.createElement('button');
  start.type = 'button';
  start.textContent = tryLabel;
  start.addEventListener('click', async () => {
    start.disabled = true;
    try {
      const { openTryIt } = await import(tryScript);
      start.parentElement?.remove();
      await openTryIt(section);
    } catch {
      start.disabled = false;
      announce('"Try it" cannot be loaded');
    }
  });
  section.querySelector('.try-start')?.replaceChildren(start);
  for (const link of document.querySelectorAll('a[href="#try"]')) {
    link.addEventListener('click', () => start.click());
  }
}
for (const section of document.querySelectorAll('[data-try]')) addTryIt(/** @type {HTMLElement} */ (section));
