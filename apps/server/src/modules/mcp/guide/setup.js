// Runs in the browser as part of the setup page. It creates elements and sets their text, never markup, as the policy of the
// page requires (`require-trusted-types-for`). The key stays in its field; only the test sends it.
'use strict';
const { endpoint, placeholder, specVersion, publicTools } = document.body.dataset;
const find = (selector) => document.querySelector(selector);
const findAll = (selector) => [...document.querySelectorAll(selector)];
const element = (name, text = '', children = []) => {
  const made = document.createElement(name);
  made.textContent = text;
  made.append(...children);
  return made;
};
const keyField = find('#key');
const result = find('#result');
const testButton = find('#test');

document.documentElement.classList.add('live');
for (const hidden of findAll('[data-live]')) hidden.hidden = false;

// The choices of the user

const keyForm = /^svc_sk_[\w-]{20,200}$/;
const keyOf = () => (keyForm.test(keyField.value.trim()) ? keyField.value.trim() : undefined);
const boxes = findAll('input[name=toolset]');
const query = () => {
  const chosen = boxes.filter((box) => box.checked);
  const isDefault = boxes.every((box) => box.checked === box.defaultChecked);
  if (isDefault || chosen.length === 0) return '';
  return '?toolsets=' + (chosen.length === boxes.length ? 'all' : chosen.map((box) => box.value).join(','));
};
const templates = new Map(findAll('code[data-fill]').map((code) => [code, code.textContent]));
const filled = (code, key) =>
  templates
    .get(code)
    .replaceAll(endpoint, () => endpoint + query())
    .replaceAll(placeholder, () => key);

const show = () => {
  const key = keyOf();
  const isWrong = keyField.value.trim() !== '' && key === undefined;
  keyField.setAttribute('aria-invalid', String(isWrong));
  find('#key-wrong').hidden = !isWrong;
  const shown = key === undefined ? placeholder : key.slice(0, 12) + '…';
  for (const code of templates.keys()) code.textContent = filled(code, shown);
};
keyField.addEventListener('input', show);
for (const box of boxes) box.addEventListener('change', show);
find('#key-shown').addEventListener('change', (event) => {
  keyField.type = event.target.checked ? 'text' : 'password';
});
show();

// Copying

// Browsers offer the clipboard only over HTTPS and on localhost.
const copyText = async (text) => {
  if (navigator.clipboard !== undefined) {
    const isDone = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    if (isDone) return true;
  }
  const area = element('textarea');
  area.value = text;
  area.className = 'unseen';
  document.body.append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  return isDone;
};
for (const button of findAll('button.copy')) {
  const label = button.textContent;
  let timer;
  button.addEventListener('click', async () => {
    const isDone = await copyText(filled(find('#' + button.dataset.of), keyOf() ?? placeholder));
    button.focus();
    button.textContent = isDone ? 'Copied' : 'Select it';
    find('#said').textContent = isDone ? 'Copied' : 'Copying failed, select the text';
    clearTimeout(timer);
    timer = setTimeout(() => {
      button.textContent = label;
      find('#said').textContent = '';
    }, 2000);
  });
}

// Clients

const tabs = findAll('[role=tab]');
const select = (tab) => {
  for (const other of tabs) {
    const isSelected = other === tab;
    other.setAttribute('aria-selected', String(isSelected));
    other.tabIndex = isSelected ? 0 : -1;
    find('#' + other.getAttribute('aria-controls')).hidden = !isSelected;
  }
};
const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
tabs.forEach((tab, at) => {
  tab.addEventListener('click', () => select(tab));
  tab.addEventListener('keydown', (event) => {
    const to =
      { Home: 0, End: tabs.length - 1 }[event.key] ?? (at + tabs.length + (steps[event.key] ?? 0)) % tabs.length;
    if (to === at) return;
    event.preventDefault();
    select(tabs[to]);
    tabs[to].focus();
  });
});
select(tabs[0]);

// The test: the first call of every client

// The policy allows calls only to the address that this page came from.
const here = location.origin + location.pathname.replace(/\/setup\/?$/, '');
if (here !== endpoint) {
  find('#elsewhere').hidden = false;
  find('#here').textContent = here;
}

const readAnswer = async (response) => {
  const text = await response.text();
  const isStream = (response.headers.get('content-type') ?? '').startsWith('text/event-stream');
  const lines = text.split('\n').filter((line) => line.startsWith('data:'));
  try {
    return JSON.parse(isStream ? lines.at(-1).slice(5) : text);
  } catch {
    return undefined;
  }
};

const askForTools = async (key, cursor) => {
  const prefix = 'io.modelcontextprotocol/';
  const meta = {
    [prefix + 'protocolVersion']: specVersion,
    [prefix + 'clientInfo']: { name: 'atrium-setup-page', version: '1' },
    [prefix + 'clientCapabilities']: {},
  };
  const params = cursor === undefined ? { _meta: meta } : { _meta: meta, cursor };
  const response = await fetch(here + query(), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': specVersion,
      'mcp-method': 'tools/list',
      ...(key === undefined ? {} : { 'x-api-key': key }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params }),
    credentials: 'omit',
    cache: 'no-store',
    redirect: 'error',
    signal: AbortSignal.timeout(20000),
  });
  return { response, answer: await readAnswer(response) };
};

const say = (kind, title, children) => {
  result.hidden = false;
  result.className = kind;
  result.replaceChildren(element('strong', title), ...children);
  find('#said').textContent = title;
};

const refusals = {
  400: 'The endpoint did not understand the call. Reload this page. If that does not help, the service has a different version.',
  401: 'The key is unknown, disabled, expired or mistyped. Copy it again, or rotate it: a key is shown only once.',
  403: 'The key is valid, but not allowed from this client. Check its ip_whitelist and device_fingerprint.',
  404: 'There is no endpoint at this address. A proxy in front of the service may not forward it.',
  405: 'A proxy in front of the service does not allow POST.',
  429: 'Too many calls. Wait a minute and test again.',
  503: 'The service is busy or starting. Test again in a moment.',
};
const sayRefusal = ({ status }, answer) => {
  const text = answer?.error?.message ?? answer?.message;
  const isElsewhere = status === 403 && here !== endpoint;
  const next = isElsewhere
    ? 'Open this page at ' + endpoint + '/setup instead, and test there.'
    : (refusals[status] ?? 'See the log of the service.');
  const parts = [element('p', next)];
  if (typeof text === 'string') parts.unshift(element('p', 'The service says: ' + text));
  say('bad', 'Refused with status ' + status, parts);
};

const listOf = (title, tools, isOpen) => {
  const items = tools.map(({ name }) => element('li', '', [element('code', name)]));
  const details = element('details', '', [
    element('summary', title + ' (' + tools.length + ')'),
    element('ul', '', items),
  ]);
  details.open = isOpen;
  return details;
};
const nextOf = (key, tools, writing) => {
  const known = new Set(publicTools.split(' '));
  if (key === undefined) return 'These are the public tools. Enter a key above and test again to see its tools.';
  if (tools.every(({ name }) => known.has(name)))
    return 'The key is valid, but its permissions or the chosen toolsets leave only the public tools.';
  if (writing.length === 0) return 'This key can only read. Step 2 explains how to allow writing.';
  return 'This key may also write. The client should ask you before it runs one of these tools.';
};
const sayTools = (key, tools) => {
  const writing = tools.filter(({ annotations }) => annotations?.readOnlyHint !== true);
  const reading = tools.filter((tool) => !writing.includes(tool));
  const count = tools.length === 1 ? '1 tool' : tools.length + ' tools';
  say('good', 'It works: ' + count, [
    element('p', nextOf(key, tools, writing)),
    ...(reading.length === 0 ? [] : [listOf('Reading', reading, true)]),
    ...(writing.length === 0 ? [] : [listOf('Writing', writing, true)]),
  ]);
};

const test = async () => {
  const key = keyOf();
  if (keyField.value.trim() !== '' && key === undefined) {
    say('bad', 'Invalid key', [element('p', 'A key begins with svc_sk_ and has no spaces.')]);
    keyField.focus();
    return;
  }
  const tools = [];
  let cursor;
  // Limits the number of pages, so that the loop always ends.
  for (let page = 0; page < 20; page++) {
    const { response, answer } = await askForTools(key, cursor);
    if (!response.ok || !Array.isArray(answer?.result?.tools)) return sayRefusal(response, answer);
    tools.push(...answer.result.tools);
    cursor = answer.result.nextCursor;
    if (cursor === undefined) break;
  }
  sayTools(key, tools);
};
testButton.addEventListener('click', async () => {
  testButton.disabled = true;
  say('', 'Asking ' + here + query(), []);
  await test().catch((error) => {
    const why = error.name === 'TimeoutError' ? 'No answer within 20 seconds.' : 'The service did not answer.';
    say('bad', why, [element('p', 'Check that the service runs and that this browser can reach it. Then test again.')]);
  });
  testButton.disabled = false;
  testButton.focus();
});
