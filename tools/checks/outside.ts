import { parseSync, printSync } from '@swc/core';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { files, type Gate } from './run.ts';

const src = 'apps/server/src';

/** Ways around an import that `.dependency-cruiser.mjs` or the linter would see. */
const detours: readonly [pattern: RegExp, what: string][] = [
  [/\bgetBuiltinModule\b/, 'takes a module of Node without importing it'],
  [/\bglobalThis\b/, 'looks for something in the global object'],
  [/(?<![.\w])require\(/, 'takes a module without importing it'],
  [/\bcreateRequire\b(?! \} from | as |\([^()]*\)\.resolve\()/, 'makes a way to take modules without importing them'],
  [
    /(?<!\bimport \{ (?:createRequire|enableCompileCache, flushCompileCache) \} )\bfrom ['"](?:node:)?module['"]/,
    'takes more of node:module than createRequire and the compile cache',
  ],
  [/\bimport\(\s*[^'"\s]/, 'imports what its text does not say'],
  [/\bnew Function\(|(?<![.\w])eval\(/, 'makes code of text'],
  [/\bsendNotification\b/, 'lets web-push call the outside by itself'],
];

// The functions that begin with an address or make what others call with.
const openIdCall = /(?<![.\w])(?:(?:discovery|dynamicClientRegistration)\(|new Configuration\()/g;
const ownFetch = /\[customFetch\]\s*[:=]/;
/** Of what follows such a call: the fetch is given with it or right after it. */
const nearby = 400;

/** What calls the outside goes through core/platform/outbound, also where a library would have a `fetch` of its own. */
export const outside: Gate = {
  name: 'outside',
  async find(root) {
    const problems: string[] = [];
    for (const file of await files(root, `${src}/**/*.ts`)) {
      if (/\.test\.ts$|\/testing\//.test(file)) continue;
      const text = withoutComments(file, await readFile(path.join(root, file), 'utf8'));
      for (const [pattern, what] of detours) if (pattern.test(text)) problems.push(`${file} ${what}`);
      if (!/from ['"]openid-client['"]/.test(text)) continue;
      for (const { index } of text.matchAll(openIdCall)) {
        const isGiven = ownFetch.test(text.slice(index, index + nearby));
        if (!isGiven) problems.push(`${file} lets openid-client call the outside by itself`);
      }
    }
    return problems;
  },
};

/** By a parser: what looks like a comment may stand in a text, and would hide what follows. */
function withoutComments(file: string, text: string): string {
  return printSync(parseSync(text, { syntax: 'typescript', tsx: file.endsWith('x'), target: 'esnext' })).code;
}
