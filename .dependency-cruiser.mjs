const src = '^apps/server/src/';
const core = `${src}core/`;
const modules = `${src}modules/`;
const tests = ['\\.test\\.ts$', '^apps/server/test/', '/testing/'];

/** A package by its name, found or not, with and without types of its own. */
const npm = (...names) => `(^|node_modules/(@types/)?)(${names.join('|')})(/|$)`;
const typeOnly = { dependencyTypesNot: ['type-only'] };

const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

export default {
  forbidden: [
    rule(
      'resolvable',
      'An import that is not found is an arrow that no other rule sees.',
      {},
      { couldNotResolve: true },
    ),
    rule('no-cycle', 'Files that need each other are one file, or the shared part is a third.', {}, { circular: true }),

    rule(
      'core-is-the-bottom',
      'core is blind to features: it imports neither modules nor app.',
      { path: core, pathNot: tests },
      { path: `${src}(app|modules)/` },
    ),
    rule(
      'core-base-is-below-data',
      'The layers of core stand in core/README.md; each imports only itself and those below it.',
      { path: `${core}base/`, pathNot: tests },
      { path: `${core}(data|platform|http)/` },
    ),
    rule(
      'core-data-is-below-platform',
      'The layers of core stand in core/README.md; each imports only itself and those below it.',
      { path: `${core}data/`, pathNot: tests },
      { path: `${core}(platform|http)/` },
    ),
    rule(
      'core-platform-is-below-http',
      'The layers of core stand in core/README.md; each imports only itself and those below it.',
      { path: `${core}platform/`, pathNot: tests },
      { path: `${core}http/` },
    ),
    rule(
      'modules-below-app',
      'app composes the modules; they do not know it.',
      { path: modules, pathNot: tests },
      { path: `${src}app/` },
    ),
    rule(
      'service-without-tests',
      'What serves requests imports nothing that only tests need.',
      { path: src, pathNot: tests },
      { path: tests },
    ),
    rule(
      'service-alone',
      'The service imports nothing of tools, bench or e2e.',
      { path: '^apps/' },
      { path: '^(tools|bench|e2e)/' },
    ),

    rule(
      'module-through-its-index',
      "Other modules see what a module's index.ts exports, and nothing else.",
      { path: `${modules}([^/]+)/` },
      // What serves requests is kept from `testing/` by a rule of its own.
      { path: modules, pathNot: [`${modules}$1/`, `${modules}[^/]+/index\\.ts$`, '/testing/'] },
    ),
    rule(
      'app-through-the-index',
      "app sees what a module's index.ts exports, and nothing else.",
      { path: `${src}app/` },
      { path: modules, pathNot: `${modules}[^/]+/index\\.ts$` },
    ),
    rule(
      'routes-only-call-services',
      'A route says who may call; what happens stands in the service.',
      { path: '\\.routes\\.ts$' },
      { path: ['\\.queries\\.ts$', npm('kysely', 'pg', 'pg-protocol')] },
    ),
    rule(
      'routes-are-the-top',
      'Only the index of its module names a route table.',
      { path: src, pathNot: [`${modules}[^/]+/index\\.ts$`, ...tests] },
      { path: '\\.routes\\.ts$' },
    ),
    rule(
      'queries-only-build-sql',
      'Queries import kysely, core/data/db, other queries of core and of their own module, and types, which do nothing.',
      { path: `${modules}([^/]+)/.*\\.queries\\.ts$` },
      {
        pathNot: [npm('kysely'), `${core}data/db/`, `${core}.*\\.queries\\.ts$`, `${modules}$1/.*\\.queries\\.ts$`],
        ...typeOnly,
      },
    ),
    rule(
      'rules-are-pure',
      'Rules do no I/O: they import other rules, core/base/crypto, the errors and constants of their module, and types.',
      { path: `${modules}([^/]+)/.*\\.rules\\.ts$` },
      { pathNot: ['\\.rules\\.ts$', `${core}base/crypto/`, `${modules}$1/.*\\.(errors|types)\\.ts$`], ...typeOnly },
    ),

    rule(
      'pg-only-in-core-db',
      'Only core/data/db talks to PostgreSQL.',
      {
        path: '^(apps|tools|e2e)/',
        pathNot: [`${core}data/db/`, `${src}app/`, '^e2e/faults/', '^e2e/support/database', ...tests],
      },
      { path: npm('pg', 'pg-protocol') },
    ),
    rule(
      'pg-as-a-type-in-app',
      'app hands a connection on and never opens one.',
      { path: `${src}app/` },
      { path: npm('pg', 'pg-protocol'), ...typeOnly },
    ),
    rule(
      'kysely-only-in-queries',
      'SQL is built in *.queries.ts and core/data/db.',
      { path: '^(apps|tools|e2e)/', pathNot: ['\\.queries\\.ts$', `${core}data/db/`, ...tests] },
      { path: npm('kysely'), ...typeOnly },
    ),
    rule(
      'crypto-only-in-core-crypto',
      'Hashes, keys and random bytes come from core/base/crypto, so that there is one place to review.',
      { path: src, pathNot: [`${core}base/crypto/`, ...tests] },
      { path: '^(node:)?crypto$' },
    ),
    rule(
      'fastify-only-in-core-http',
      'Only core/http knows the HTTP library; app may name its types.',
      { path: src, pathNot: [`${core}http/`, `${src}app/`, ...tests] },
      { path: npm('fastify', '@fastify/[^/]+') },
    ),
    rule(
      'fastify-as-a-type-in-app',
      'app starts and stops the server that core/http makes.',
      { path: `${src}app/` },
      { path: npm('fastify', '@fastify/[^/]+'), ...typeOnly },
    ),
    rule(
      'objects-only-in-core-files',
      'One adapter talks to the object store of others.',
      { path: src, pathNot: [`${core}data/files/s3-store\\.ts$`, ...tests] },
      { path: npm('@aws-sdk/[^/]+') },
    ),
    rule(
      'background-work-only-in-core-queue',
      'Work for later is sent through services.queue; one place knows the library that keeps it.',
      { path: src, pathNot: [`${core}platform/queue/`, ...tests] },
      { path: npm('pg-boss') },
    ),
    rule(
      'mail-only-in-core-mail',
      'Mail leaves through core/platform/mail.',
      { path: src, pathNot: [`${core}platform/mail/`, ...tests] },
      { path: npm('nodemailer') },
    ),
    rule(
      'outside-only-through-core-outbound',
      'Calls to the outside leave through core/platform/outbound, which judges every address.',
      { path: src, pathNot: [`${core}(platform/outbound|http)/`, ...tests] },
      { path: [npm('undici'), '^(node:)?(http|https|http2|tls|dgram)$'], ...typeOnly },
    ),
    rule(
      'undici-only-in-core-outbound',
      'core/http serves requests and makes none.',
      { path: `${core}http/`, pathNot: tests },
      { path: npm('undici') },
    ),
    rule(
      'sockets-only-where-they-belong',
      'Sockets and names: the guard itself, reading addresses, the own database, and handing the own port on.',
      {
        path: src,
        pathNot: [
          `${core}(platform/outbound|base/net|data/db/embedded)/`,
          `${src}app/worker-hand-over\\.ts$`,
          ...tests,
        ],
      },
      { path: '^(node:)?(net|dns|dns/promises)$', ...typeOnly },
    ),
    rule(
      'programs-only-of-the-own-database',
      'Another program could call anybody.',
      { path: src, pathNot: [`${core}data/db/embedded/`, ...tests] },
      { path: '^(node:)?child_process$', ...typeOnly },
    ),
    rule(
      'openid-only-in-its-providers',
      'The library calls out by itself; there it is given the fetch of core/platform/outbound (tools/checks/outside.ts).',
      { path: src, pathNot: [`${modules}identity-providers/providers/`, ...tests] },
      { path: npm('openid-client', 'oauth4webapi') },
    ),
    rule(
      'circuits-only-in-core-outbound',
      'Circuits and repetitions are one concern of the one path to the outside.',
      { path: src, pathNot: [`${core}platform/outbound/`, ...tests] },
      { path: npm('cockatiel') },
    ),
    rule(
      'redis-only-in-core-rate-limit',
      'One place talks to the Redis of the operator.',
      { path: src, pathNot: [`${core}data/rate-limit/redis-store\\.ts$`, ...tests] },
      { path: npm('ioredis') },
    ),
    rule(
      'traces-only-in-core-tracing',
      'One place sends traces to the collector of the operator.',
      { path: src, pathNot: [`${core}base/tracing/`, ...tests] },
      { path: npm('@opentelemetry/[^/]+') },
    ),

    rule('black-box', 'e2e knows the service by its sockets only.', { path: '^e2e/' }, { path: '^apps/' }),
    rule('bench-from-outside', 'bench measures the started service.', { path: '^bench/' }, { path: '^apps/' }),
  ],
  options: {
    // Without @swc/core it reads nothing and reports success: tools/checks/architecture.ts compares with the disk.
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json', '.d.ts'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
