import { expect, it } from 'vitest';

import { outside } from './outside.ts';
import { plant } from './testing/plant.ts';

const src = 'apps/server/src';
const library = "import { Configuration, customFetch, discovery } from 'openid-client';\n";

const clean = {
  [`${src}/core/a.ts`]: "// never globalThis.fetch\nexport const load = () => import('#core/b');\n",
  [`${src}/core/b.test.ts`]: 'export const call = () => globalThis.fetch;\n',
  [`${src}/core/c.ts`]: "/* never globalThis.fetch, nor\n eval('x') */ export const glob = '**/*'; // require('x')\n",
  [`${src}/modules/docs/index.ts`]:
    "import { createRequire } from 'node:module';\nexport const place = createRequire(import.meta.url).resolve('x');\n",
  [`${src}/modules/a/found.ts`]: `${library}export const a = discovery(url, 'id', undefined, undefined, { [customFetch]: fetch });\n`,
  [`${src}/modules/a/push.ts`]:
    "import webPush from 'web-push';\nexport const a = webPush.encrypt('a', 'b', 'c', 'aes128gcm');\n",
  [`${src}/modules/a/made.ts`]: `${library}const a = new Configuration(b, 'id');\na[customFetch] = fetch;\n`,
};

const violations: [what: string, text: string][] = [
  ['a module of Node in passing', "const net = process.getBuiltinModule('node:net');\n"],
  ['a global by its name', "const call = globalThis['fetch'];\n"],
  ['a global out of its object', 'const { fetch: call } = globalThis;\n'],
  ['CommonJS', "const net = require('node:net');\n"],
  ['CommonJS that is made', "const net = createRequire(import.meta.url)('node:net');\n"],
  ['CommonJS that is made and kept', "const load = createRequire(import.meta.url);\nconst net = load('node:net');\n"],
  ['CommonJS under another name', "import { createRequire as make } from 'node:module';\nconst load = make('/');\n"],
  ['CommonJS out of its module', "import * as all from 'node:module';\nconst load = all['create' + 'Require']('/');\n"],
  ['what follows a text that looks like a comment', "const any = '*/*';\nconst call = globalThis.fetch; /* end */\n"],
  ['what follows such a template', "const any = `${name}/*`;\nconst net = require('node:net'); /* end */\n"],
  ['what follows such a pattern', "const any = /['\"`]/;\nconst other = '/*';\neval('fetch()'); // */\n"],
  ['a call with a comment in it', "const net = require/* */('node:net');\n"],
  ['an import of something', "const net = await import(['node', 'net'].join(':'));\n"],
  ['an import of a template', 'const net = await import(`node:${name}`);\n'],
  ['code of text', "const call = new Function('return fetch')();\n"],
  ['discovery by itself', `${library}export const a = discovery(url, 'id');\n`],
  ['a configuration by itself', `${library}export const a = new Configuration(b, 'id');\n`],
  [
    'a push message that its library sends',
    "import webPush from 'web-push';\nawait webPush.sendNotification(a, 'b');\n",
  ],
];

it('passes a tree in order', async () => {
  expect(await outside.find(await plant(clean))).toEqual([]);
});

it.each(violations)('finds %s', async (_what, text) => {
  const file = `${src}/modules/a/call.service.ts`;
  expect(await outside.find(await plant({ ...clean, [file]: text }))).toEqual([expect.stringContaining(file)]);
});
