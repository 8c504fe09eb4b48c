// @ts-check
// "Try it" of the API reference: sends GET requests of the page to its own registry.

/** Characters of a response that are shown. */
const MAX_SHOWN = 100_000;

/** @param {HTMLFormElement} form with the path of the operation in `data-try` */
function enable(form) {
  const output = /** @type {HTMLElement} */ (form.querySelector('output'));
  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    output.replaceChildren('Sending …');
    const target = requestTarget(form);
    try {
      const started = performance.now();
      const response = await fetch(target, { headers: { Accept: 'application/json, */*;q=0.5' } });
      const text = await readStart(response);
      const seconds = (performance.now() - started) / 1000;
      show(output, `${response.status} ${response.statusText}, ${seconds.toFixed(2)} s`, target, text);
    } catch (error) {
      show(output, 'The request failed', target, String(error));
    }
    output.focus();
  });
}

/** Reads as much of a response as is shown: an export can be large. @param {Response} response @returns {Promise<string>} */
async function readStart(response) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (reader !== undefined && text.length <= MAX_SHOWN) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
  }
  await reader?.cancel();
  return text;
}

/** Fills in the path, and adds the query. @param {HTMLFormElement} form @returns {string} */
function requestTarget(form) {
  let path = form.dataset.try ?? '';
  const query = new URLSearchParams();
  for (const input of form.querySelectorAll('input')) {
    const { place } = input.dataset;
    if (place === 'path') path = path.replace(`{${input.name}}`, encodeURIComponent(input.value.trim()));
    else if (input.value !== '') query.append(input.name, input.value);
  }
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** @param {HTMLElement} output @param {string} status @param {string} target @param {string} text */
function show(output, status, target, text) {
  const head = document.createElement('p');
  const strong = document.createElement('strong');
  strong.textContent = status;
  const code = document.createElement('code');
  code.textContent = target;
  head.append(strong, ' ', code);
  const body = document.createElement('pre');
  body.tabIndex = 0;
  const shown = formatted(text);
  body.textContent = shown.length <= MAX_SHOWN ? shown : `${shown.slice(0, MAX_SHOWN)}\n…`;
  output.replaceChildren(head, body);
}

/** @param {string} text @returns {string} */
function formatted(text) {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

/** Opens the operation or schema that the address names. */
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}

for (const form of document.querySelectorAll('[data-try]')) enable(/** @type {HTMLFormElement} */ (form));
addEventListener('hashchange', openTarget);
openTarget();
