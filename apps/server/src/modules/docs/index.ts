import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import Type from 'typebox';

import { access } from '#core/base/access/access';
import { NotFound } from '#core/base/errors/common-errors';
import { closed } from '#core/base/schemas';
import { generateOpenApi } from '#core/http/openapi';
import { defineModule, defineRoute, type Module } from '#core/http/route';
import { initScript, page } from '#modules/docs/reference-page';

const referenceDirectory = path.dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

/** Files of the API reference; no other file is served. */
const assets = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'init.js': 'text/javascript; charset=utf-8',
} as const;

// The reference page needs its own scripts and styles and calls this service, nothing else.
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'";

const documentation = access.public('the description of the API is public');

/** The API description, for programs and for readers. */
export function createDocsModule(listModules: () => readonly Module[]): Module {
  let openApi: string | undefined;
  return defineModule({
    name: 'docs',
    description: 'Description of this API',
    routes: [
      defineRoute({
        method: 'GET',
        path: '/openapi.json',
        operationId: 'getOpenApi',
        summary: 'Get this API as OpenAPI 3.1',
        access: documentation,
        schema: { response: { 200: Type.Record(Type.String(), Type.Unknown()) } },
        handler: ({ setHeader }) => {
          setHeader('content-type', 'application/json; charset=utf-8');
          return (openApi ??= JSON.stringify(generateOpenApi(listModules())));
        },
      }),
      defineRoute({
        method: 'GET',
        path: '/docs',
        operationId: 'getReferencePage',
        summary: 'Get the API reference as a web page',
        access: documentation,
        schema: { response: { 200: Type.String() } },
        contentTypes: ['text/html'],
        handler: ({ setHeader }) => {
          setHeader('content-type', 'text/html; charset=utf-8');
          setHeader('content-security-policy', contentSecurityPolicy);
          return page;
        },
      }),
      defineRoute({
        method: 'GET',
        path: '/docs/{asset}',
        operationId: 'getReferenceAsset',
        summary: 'Get a script or style sheet of the API reference',
        access: documentation,
        schema: {
          params: closed({
            asset: Type.String({ maxLength: 40, description: 'File name of the script or style sheet.' }),
          }),
          response: { 200: Type.String() },
        },
        errors: [NotFound],
        contentTypes: ['text/css', 'text/javascript'],
        handler: ({ params, setHeader }) => {
          const type = Object.hasOwn(assets, params.asset) ? assets[params.asset as keyof typeof assets] : undefined;
          if (type === undefined) throw NotFound();
          setHeader('content-type', type);
          setHeader('cache-control', 'public, max-age=3600');
          return params.asset === 'init.js' ? initScript : readFile(path.join(referenceDirectory, params.asset));
        },
      }),
    ],
  });
}
