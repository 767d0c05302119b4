import { readFileSync } from 'node:fs';

import type { Settings } from '#core/platform/services';
import { protocolVersions, type Catalog } from '#modules/mcp/catalog';
import { keyPlaceholder } from '#modules/mcp/guide/configurations';
import type { McpClient } from '#modules/mcp/guide/guide.schemas';
import { describeSetup, setupSteps } from '#modules/mcp/guide/setup';

export const setupScript = readFileSync(new URL('setup.js', import.meta.url), 'utf8');
const setupStyle = readFileSync(new URL('setup.css', import.meta.url), 'utf8');

/**
 * Allows only the script and style of this page, calls to this service, and no markup at run time, so input and answers stay text.
 */
export function setupPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

/** The guide as a page that fills in the configurations and tests the connection. */
export function renderSetupPage(settings: Settings, catalog: Catalog, nonce: string): string {
  const { clients, endpoint } = describeSetup(settings, catalog);
  const sections = setupSteps(catalog).map(
    ({ id, title, text }) =>
      `<section aria-labelledby="${id}-title"><h2 id="${id}-title">${escape(title)}</h2><p>${inline(text)}</p>${
        { key: keyField, writing: writing(settings), toolsets: choices(catalog), client: tabs(clients), test }[id]
      }</section>`,
  );
  const publicTools = catalog.public.map(({ name }) => name).join(' ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Connect an assistant to Atrium</title>
<style nonce="${nonce}">${setupStyle}</style>
</head>
<body data-endpoint="${escape(endpoint)}" data-placeholder="${keyPlaceholder}" data-spec-version="${protocolVersions[0]}" data-public-tools="${escape(publicTools)}">
<header>
<h1>Connect an assistant to Atrium</h1>
<p>Claude, Cursor, VS Code and every other client of the Model Context Protocol can work with spaces, bookings and contacts, limited by the permissions of your key.</p>
${codeBox('endpoint', 'Address of the server', endpoint)}
<p class="warning" id="elsewhere" hidden>You opened this page at <code id="here"></code>, but clients get the address above. If they cannot reach it, the setting <code>PUBLIC_URL</code> of the service is wrong.</p>
<noscript><p class="warning">Without JavaScript you can copy from this page, but not fill in a key or test it.</p></noscript>
</header>
<main>
${sections.join('\n')}
</main>
<footer>
<p><a href="${escape(endpoint)}/info">What the server offers</a>, <a href="${escape(settings.publicUrl)}/docs">the whole API</a>. With <code>Accept: text/markdown</code> this page is Markdown.</p>
</footer>
<p class="unseen" id="said" role="status"></p>
<script type="module" nonce="${nonce}">${setupScript}</script>
</body>
</html>
`;
}

const keyField = `
<div data-live hidden>
<label class="name" for="key">Your key</label>
<div class="field">
<input id="key" type="password" placeholder="svc_sk_…" autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="300" aria-describedby="key-note key-wrong">
<label><input id="key-shown" type="checkbox"> Show</label>
</div>
<p class="note" id="key-note">The key stays in this page. The texts that you copy below contain it, and the test sends it only to this service.</p>
<p class="warning" id="key-wrong" hidden>A key begins with <code>svc_sk_</code> and has no spaces.</p>
</div>`;

function writing({ publicUrl }: Settings): string {
  const call = `curl -X PATCH "${publicUrl}/api/v1/secure/api-keys/ID_OF_THE_KEY" \\
  -H "authorization: Bearer YOUR_ACCESS_TOKEN" \\
  -H "content-type: application/json" \\
  -d '{"mcp_write_enabled": true}'`;
  return `<details><summary>How to let it write</summary>${codeBox('writing-call', 'In a terminal', call)}<p class="note">It requires the permission <code>api_keys.manage</code>, takes effect with the next call, and false disables it again.</p></details>`;
}

function choices({ toolsets }: Catalog): string {
  const boxes = toolsets.map(
    ({ name, description, isDefault }) =>
      `<label><input type="checkbox" name="toolset" value="${name}"${isDefault ? ' checked' : ''}><span>${name}<small>${escape(description)}</small></span></label>`,
  );
  return `<fieldset data-live hidden><legend class="unseen">Toolsets</legend><div class="choices">${boxes.join('')}</div></fieldset>`;
}

function tabs(clients: readonly McpClient[]): string {
  const buttons = clients.map(
    ({ id, name }) =>
      `<button type="button" role="tab" id="tab-${id}" aria-controls="panel-${id}" aria-selected="false">${escape(name)}</button>`,
  );
  const panels = clients.map(
    ({ id, name, place, config, note }) =>
      `<div role="tabpanel" id="panel-${id}" aria-labelledby="tab-${id}"><h3>${escape(name)}</h3>${codeBox(`config-${id}`, place, config)}<p class="note">${inline(note)}</p></div>`,
  );
  return `<div role="tablist" aria-label="Client" data-live hidden>${buttons.join('')}</div>${panels.join('\n')}`;
}

const test = `
<p data-live hidden><button type="button" class="main" id="test">Test the connection</button></p>
<div id="result" hidden></div>`;

function codeBox(id: string, title: string, text: string): string {
  return `<div class="box"><div class="bar"><span id="${id}-title">${escape(title)}</span><button type="button" class="copy" data-of="${id}" aria-describedby="${id}-title" data-live hidden>Copy</button></div><pre><code id="${id}" data-fill>${escape(text)}</code></pre></div>`;
}

function inline(text: string): string {
  return escape(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
