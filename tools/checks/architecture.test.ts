import { expect, it } from 'vitest';

import { architecture } from './architecture.ts';
import { plant } from './testing/plant.ts';

const src = 'apps/server/src';
const a = `${src}/modules/a`;
const b = `${src}/modules/b`;

/** What the violations below point at; by itself in order. */
const clean = {
  [`${src}/app/main.ts`]:
    "import type pg from 'pg';\nimport { a } from '#modules/a/index';\nexport const main: pg = a;\n",
  [`${src}/core/data/db/database.ts`]: "import pg from 'pg';\nexport const database = pg;\n",
  [`${src}/core/base/crypto/secrets.ts`]:
    "import { randomBytes } from 'node:crypto';\nexport const secret = randomBytes;\n",
  [`${src}/core/http/server.ts`]: "import fastify from 'fastify';\nexport const server = fastify;\n",
  [`${src}/core/platform/outbound/outbound.ts`]: "import { fetch } from 'undici';\nexport const call = fetch;\n",
  [`${src}/core/data/audit/audit.queries.ts`]: "import { sql } from 'kysely';\nexport const audit = sql;\n",
  [`${a}/index.ts`]: "import { routes } from '#modules/a/a.routes';\nexport const a = routes;\n",
  [`${a}/a.routes.ts`]: "import { service } from '#modules/a/a.service';\nexport const routes = service;\n",
  [`${a}/a.service.ts`]: [
    "import { query } from '#modules/a/a.queries';",
    "import { rule } from '#modules/a/a.rules';",
    "import { b } from '#modules/b/index';",
    'export const service = [query, rule, b];\n',
  ].join('\n'),
  [`${a}/a.queries.ts`]: [
    "import { sql } from 'kysely';",
    "import { audit } from '#core/data/audit/audit.queries';",
    "import { database } from '#core/data/db/database';",
    "import type { Tables } from '#modules/a/a.tables';",
    'export const query: Tables = [sql, audit, database];\n',
  ].join('\n'),
  [`${a}/a.tables.ts`]: 'export type Tables = unknown[];\n',
  [`${a}/a.rules.ts`]: "import { secret } from '#core/base/crypto/secrets';\nexport const rule = secret;\n",
  [`${a}/a.test.ts`]: "import { create } from '#test/support/harness';\ncreate();\n",
  [`${b}/index.ts`]: "import { query } from '#modules/b/b.queries';\nexport const b = query;\n",
  [`${b}/b.queries.ts`]: "import { sql } from 'kysely';\nexport const query = sql;\n",
  'apps/server/test/support/harness.ts': "import { main } from '#app/main';\nexport const create = () => main;\n",
  'tools/check.ts': "import { main } from '../apps/server/src/app/main.ts';\nexport const check = main;\n",
};
const count = Object.keys(clean).length;
/** The folders of core that hold a file above. */
const sentences = Object.fromEntries(
  [
    'base/crypto',
    'base/net',
    'data/audit',
    'data/db',
    'data/files',
    'data/rate-limit',
    'http',
    'platform/mail',
    'platform/outbound',
  ].map((folder) => [`${src}/core/${folder}/README.md`, 'Does one thing.\n']),
);

const violations: [rule: string, file: string, imported: string][] = [
  ['resolvable', `${src}/core/lost.ts`, '#core/nowhere'],
  ['core-is-the-bottom', `${src}/core/up.ts`, '#modules/b/index'],
  ['core-is-the-bottom', `${src}/core/top.ts`, '#app/main'],
  ['core-base-is-below-data', `${src}/core/base/net/up.ts`, '#core/data/db/database'],
  ['core-data-is-below-platform', `${src}/core/data/db/up.ts`, '#core/platform/outbound/outbound'],
  ['core-platform-is-below-http', `${src}/core/platform/mail/up.ts`, '#core/http/server'],
  ['modules-below-app', `${a}/up.ts`, '#app/main'],
  ['service-without-tests', `${src}/core/tested.ts`, '#test/support/harness'],
  ['service-alone', `${src}/core/tooling.ts`, '../../../../tools/check.ts'],
  ['module-through-its-index', `${a}/other.ts`, '#modules/b/b.queries'],
  ['app-through-the-index', `${src}/app/inner.ts`, '#modules/a/a.service'],
  ['routes-only-call-services', `${a}/more.routes.ts`, '#modules/a/a.queries'],
  ['routes-only-call-services', `${a}/sql.routes.ts`, 'kysely'],
  ['routes-only-call-services', `${a}/audit.routes.ts`, '#core/data/audit/audit.queries'],
  ['module-through-its-index', `${a}/b.routes.ts`, '#modules/b/b.queries'],
  ['routes-are-the-top', `${a}/up.service.ts`, '#modules/a/a.routes'],
  ['fastify-only-in-core-http', `${a}/http.service.ts`, 'fastify'],
  ['fastify-only-in-core-http', `${a}/cors.service.ts`, '@fastify/cors'],
  ['fastify-as-a-type-in-app', `${src}/app/http.ts`, 'fastify'],
  ['queries-only-build-sql', `${a}/secret.queries.ts`, '#core/base/crypto/secrets'],
  ['queries-only-build-sql', `${a}/b.queries.ts`, '#modules/b/b.queries'],
  ['queries-only-build-sql', `${a}/rule.queries.ts`, '#modules/a/a.rules'],
  ['queries-only-build-sql', `${a}/file.queries.ts`, 'node:fs'],
  ['rules-are-pure', `${a}/file.rules.ts`, 'node:fs'],
  ['rules-are-pure', `${a}/sql.rules.ts`, '#modules/a/a.queries'],
  ['pg-only-in-core-db', `${a}/pg.service.ts`, 'pg'],
  ['pg-only-in-core-db', `${src}/core/http/wire.ts`, 'pg-protocol'],
  ['pg-as-a-type-in-app', `${src}/app/pg.ts`, 'pg'],
  ['kysely-only-in-queries', `${a}/sql.service.ts`, 'kysely'],
  ['crypto-only-in-core-crypto', `${a}/crypto.service.ts`, 'node:crypto'],
  ['crypto-only-in-core-crypto', `${src}/app/crypto.ts`, 'crypto'],
  ['mail-only-in-core-mail', `${a}/mail.service.ts`, 'nodemailer'],
  ['background-work-only-in-core-queue', `${a}/later.service.ts`, 'pg-boss'],
  ['outside-only-through-core-outbound', `${a}/call.service.ts`, 'undici'],
  ['outside-only-through-core-outbound', `${src}/core/platform/mail/call.ts`, 'node:https'],
  ['outside-only-through-core-outbound', `${src}/app/call.ts`, 'http2'],
  ['undici-only-in-core-outbound', `${src}/core/http/call.ts`, 'undici'],
  ['outside-only-through-core-outbound', `${a}/tls.service.ts`, 'node:tls'],
  ['outside-only-through-core-outbound', `${a}/datagram.service.ts`, 'node:dgram'],
  ['sockets-only-where-they-belong', `${a}/socket.service.ts`, 'node:net'],
  ['sockets-only-where-they-belong', `${a}/name.service.ts`, 'node:dns/promises'],
  ['sockets-only-where-they-belong', `${src}/core/platform/mail/socket.ts`, 'net'],
  ['sockets-only-where-they-belong', `${src}/core/data/db/socket.ts`, 'node:net'],
  ['sockets-only-where-they-belong', `${src}/app/socket.ts`, 'node:dns'],
  ['programs-only-of-the-own-database', `${a}/program.service.ts`, 'node:child_process'],
  ['programs-only-of-the-own-database', `${src}/core/data/db/program.ts`, 'child_process'],
  ['openid-only-in-its-providers', `${a}/openid.service.ts`, 'openid-client'],
  ['circuits-only-in-core-outbound', `${a}/circuit.service.ts`, 'cockatiel'],
  ['redis-only-in-core-rate-limit', `${src}/core/data/rate-limit/redis.ts`, 'ioredis'],
  ['redis-only-in-core-rate-limit', `${a}/redis.service.ts`, 'ioredis'],
  ['traces-only-in-core-tracing', `${a}/trace.service.ts`, '@opentelemetry/exporter-trace-otlp-http'],
  ['objects-only-in-core-files', `${a}/object.service.ts`, '@aws-sdk/client-s3'],
  ['objects-only-in-core-files', `${src}/core/data/files/other.ts`, '@aws-sdk/client-s3'],
  ['mail-only-in-core-mail', `${src}/core/platform/outbound/mail.ts`, 'nodemailer'],
  ['black-box', 'e2e/inside.test.ts', '../apps/server/src/app/main.ts'],
  ['bench-from-outside', 'bench/inside.ts', '../apps/server/test/support/harness.ts'],
];

it('passes a tree in order', async () => {
  expect(await architecture(count).find(await plant({ ...clean, ...sentences }))).toEqual([]);
});

it('finds each arrow that points the wrong way', async () => {
  const planted = violations.map(([, file, imported]) => [
    file,
    `import * as it from '${imported}';\nconsole.log(it);\n`,
  ]);
  const found = await architecture(count).find(await plant({ ...clean, ...sentences, ...Object.fromEntries(planted) }));
  for (const [rule, file] of violations) {
    const fits = found.some((problem) => problem.startsWith(`${rule}: ${file} -> `));
    expect({ rule, file, fits }).toEqual({ rule, file, fits: true });
  }
  // Nothing of what is in order may be found with them, other than by a rule about its own place.
  expect(found.filter((problem) => Object.keys(clean).some((file) => problem.includes(`: ${file} ->`)))).toEqual([]);
});

it('a type is an arrow too', async () => {
  const planted = {
    [`${src}/core/typed.ts`]: "import type { b } from '#modules/b/index';\nexport type B = typeof b;\n",
  };
  expect(await architecture(count).find(await plant({ ...clean, ...sentences, ...planted }))).toEqual([
    expect.stringContaining('core-is-the-bottom'),
  ]);
});

it('a type does nothing: queries and rules may name any', async () => {
  const planted = {
    [`${a}/typed.queries.ts`]:
      "import type { secret } from '#core/base/crypto/secrets';\nexport type S = typeof secret;\n",
    [`${a}/typed.rules.ts`]: "import type { query } from '#modules/a/a.queries';\nexport type Q = typeof query;\n",
  };
  expect(await architecture(count).find(await plant({ ...clean, ...sentences, ...planted }))).toEqual([]);
  const other = {
    [`${a}/typed.queries.ts`]: "import type { query } from '#modules/b/b.queries';\nexport type Q = typeof query;\n",
  };
  expect(await architecture(count).find(await plant({ ...clean, ...sentences, ...other }))).toEqual([
    expect.stringContaining('module-through-its-index'),
  ]);
});

it('cycles of files, of modules and of folders of core', async () => {
  const back = { [`${b}/back.ts`]: "import { a } from '#modules/a/index';\nexport const back = a;\n" };
  const ofModules = await architecture(count).find(await plant({ ...clean, ...sentences, ...back }));
  expect(ofModules).toEqual([
    'no-folder-cycle: modules/a imports itself through other folders',
    'no-folder-cycle: modules/b imports itself through other folders',
  ]);
  const around = {
    [`${src}/core/data/db/one.ts`]: "import { two } from '#core/data/files/two';\nexport const one = two;\n",
    [`${src}/core/data/files/two.ts`]:
      "import { audit } from '#core/data/audit/audit.queries';\nexport const two = audit;\n",
    [`${src}/core/data/audit/three.ts`]:
      "import { database } from '#core/data/db/database';\nexport const three = database;\n",
  };
  const ofFolders = await architecture(count).find(await plant({ ...clean, ...sentences, ...around }));
  expect(ofFolders).toHaveLength(3);
  const self = {
    [`${a}/a.tables.ts`]: "import type { a } from '#modules/a/index';\nexport type Tables = typeof a[];\n",
  };
  const ofFiles = await architecture(count).find(await plant({ ...clean, ...sentences, ...self }));
  expect(ofFiles).toContainEqual(expect.stringContaining('no-cycle: '));
});

it('folders of core that do not say what they are for', async () => {
  const silent = {
    [`${src}/core/base/crypto/README.md`]: '# Crypto\n\nSecrets.\n',
    [`${src}/core/platform/mail/send.ts`]: 'export const send = 1;\n',
    [`${src}/core/platform/mail/README.md`]: '',
  };
  const found = await architecture(count).find(await plant({ ...clean, ...sentences, ...silent }));
  expect(found).toEqual([
    expect.stringContaining('core/base/crypto/README.md must be one sentence'),
    expect.stringContaining('core/platform/mail/README.md must be one sentence'),
  ]);
});

it('folders and files that name no concern', async () => {
  const heaps = ['core/http/utils/text.ts', 'modules/a/helpers.ts', 'lib/some.ts', 'core/http/common/a.ts'];
  const planted = heaps.map((file) => [`${src}/${file}`, 'export const one = 1;\n']);
  const found = await architecture(count).find(await plant({ ...clean, ...sentences, ...Object.fromEntries(planted) }));
  expect(found).toHaveLength(heaps.length);
});

it('reading fewer files than there are is a failure', async () => {
  const root = await plant({ ...clean, ...sentences });
  expect(await architecture(count + 1).find(root)).toEqual([expect.stringContaining(`${count} files found`)]);
  // What happens without the parser: success, after reading nothing.
  const blind = await plant({
    ...clean,
    ...sentences,
    '.dependency-cruiser.mjs': "export default { options: { exclude: '.' } };\n",
  });
  expect(await architecture(count).find(blind)).toEqual([expect.stringContaining(`${count} of ${count} files`)]);
});
