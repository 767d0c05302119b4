/** The subset of JSON Schema that our schemas use. */
export type JsonSchema = {
  type?: string;
  format?: string;
  pattern?: string;
  enum?: unknown[];
  const?: unknown;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  maxProperties?: number;
  properties?: Record<string, JsonSchema>;
  patternProperties?: Record<string, JsonSchema>;
  additionalProperties?: unknown;
  required?: string[];
  items?: JsonSchema;
  anyOf?: JsonSchema[];
};

type Json = Record<string, unknown>;

/** A property of a valid body, at any depth, with the schema that it has to fit. */
export type Place = { path: string[]; schema: JsonSchema };

/** One request body that has to be refused. */
export type BadBody = { what: string; payload: string | Buffer; contentType?: string | undefined; statuses: number[] };

const one = {
  null: null,
  boolean: true,
  integer: 5,
  number: 1.5,
  string: 'text',
  array: [],
  object: {},
} as const;

/** Values that fit a loose idea of the format, and break what stands behind it. */
export const badValues: Readonly<Record<string, string[]>> = {
  uuid: [
    'urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057',
    '{01890a5d-ac96-774b-bcce-b302099a8057}',
    '01890a5dac96774bbcceb302099a8057',
    '01890a5d-ac96-774b-bcce-b302099a8057 ',
    '01890a5d-ac96-774b-bcce-b302099a805g',
    '',
  ],
  'date-time': [
    '0000-01-01T00:00:00Z',
    '2016-12-31T23:59:60Z',
    '2026-02-30T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:00:00+99:99',
    '9999-12-31T23:59:59-23:59',
    '0001-01-01T00:00:00+23:59',
    '10000-01-01T00:00:00Z',
    '2026-01-01',
    'now',
    'infinity',
  ],
  password: ['1234567', 'e\u0301'.repeat(7)],
  email: [
    'a',
    'a@',
    '@example.com',
    'a@b',
    '.a@example.com',
    'a.@example.com',
    'a..b@example.com',
    'a b@example.com',
    'a@example.com\n',
    `${'a'.repeat(65)}@example.com`,
  ],
  uri: [
    'example.com',
    '//example.com',
    '/path',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    ' javascript:alert(1)',
    '\u0001javascript:alert(1)',
    'java\nscript:alert(1)',
    'java\tscript:alert(1)',
    '\u00a0javascript:alert(1)',
    '\ufeffjavascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'data:text/html;base64,eA==',
    'vbscript:msgbox(1)',
    'blob:https://example.com/1',
    'https://',
    'https://user:secret@example.com',
    'https://:@example.com',
    'https:/\\:@example.com',
    'https::@example.com',
    'file:///etc/passwd',
    'https://a b',
    'mailto:',
    'urn:a\nb',
    '',
  ],
  'app-route': [
    'javascript:alert(1)',
    'JAVASCRIPT:alert(1)',
    ' javascript:alert(1)',
    'java\tscript:alert(1)',
    '\u0001javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'blob:https://example.com/1',
    'file:///etc/passwd',
    'mailto:ada@example.com',
    'http://example.com/',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/..//evil.example',
    'https://user:secret@example.com/',
    'https://:@example.com/',
    'https:evil.example',
    'https:///evil.example',
    '/a b',
  ],
  'secure-uri': [
    'app.example.com',
    'http://app.example.com/cb',
    'https://user:secret@app.example.com/cb',
    'https://app.example.com/cb#fragment',
    'https://app.example.com/cb#',
    'https://app.example.com\\@other.example/cb',
    'com.example.app:/cb',
    'javascript:alert(1)',
    'https://a b',
    '',
  ],
  'property-name': ['__proto__', 'constructor', 'prototype'],
  'ip-range': [
    '',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '256.1.1.1',
    '1.2.3.4/33',
    '1.2.3.4/-1',
    '1.2.3.4/',
    '1.2.3.4/8',
    '1.2.3.4/8/8',
    '::1/129',
    'fe80::1%eth0',
    ' ::1',
    '*',
    'localhost',
  ],
  'time-zone': ['+02:00', 'Mars/Phobos', '', 'Europe/Vienna\n'],
};

/** Every way we know in which a body can be wrong, made from one that is right. */
export function badBodies(schema: JsonSchema, valid: Json): BadBody[] {
  const text = JSON.stringify(valid);
  const places = placesIn(schema, valid);
  const bad = (what: string, payload: string | Buffer): BadBody => ({ what, payload, statuses: [400] });
  const raw = (place: Place, literal: string) =>
    JSON.stringify(replace(valid, place.path, '@raw@')).replace('"@raw@"', literal);
  // At the end, where the last of two members with one name counts.
  const also = (member: string) => `${text.slice(0, -1)}${text === '{}' ? '' : ','}${member}}`;
  return [
    ...places.flatMap(({ path, schema: own }) =>
      Object.entries(one)
        .filter(([type]) => !typesOf(own).has(type))
        .map(([type, value]) => bad(`${path.join('.')} as ${type}`, JSON.stringify(replace(valid, path, value)))),
    ),
    ...places.flatMap(({ path, schema: own }) =>
      formatsOf(own).flatMap((format) =>
        (badValues[format] ?? []).map((value) =>
          bad(`${path.join('.')} = ${value}`, JSON.stringify(replace(valid, path, value))),
        ),
      ),
    ),
    ...places
      .filter(({ schema: own }) => typesOf(own).has('string'))
      .flatMap(({ path }) => [
        bad(`${path.join('.')} with NUL`, JSON.stringify(replace(valid, path, 'a\0b'))),
        bad(`${path.join('.')} with half a surrogate pair`, JSON.stringify(replace(valid, path, 'a\ud800'))),
        bad(`${path.join('.')} of 100,000 characters`, JSON.stringify(replace(valid, path, 'x'.repeat(100_000)))),
      ]),
    ...places.flatMap((place) => [bad(`${place.path.join('.')} = 1e400`, raw(place, '1e400'))]),
    ...places
      .filter(({ schema: own }) => typesOf(own).has('integer'))
      .flatMap((place) =>
        ['1152921504606846976', '-1152921504606846976', '1e30', '-1e30'].map((literal) =>
          bad(`${place.path.join('.')} = ${literal}`, raw(place, literal)),
        ),
      ),
    ...requiredIn(schema, valid).map((path) => bad(`without ${path.join('.')}`, JSON.stringify(without(valid, path)))),
    ...closedIn(schema, valid).map((path) =>
      bad(`unknown property in ${path.join('.')}`, JSON.stringify(replace(valid, [...path, 'noSuchProperty'], 1))),
    ),
    ...[
      'null',
      '',
      '[]',
      '"text"',
      '5',
      'true',
      '[{}]',
      '{',
      '}',
      '{]',
      "{'a':1}",
      '{"a":1,}',
      '{"a":NaN}',
      '{"a":01}',
      `${text}}`,
      `${text} x`,
      text.slice(0, -1),
      text.slice(0, text.length / 2),
    ].map((payload) => bad(`body ${payload.slice(0, 20)}`, payload)),
    ...['__proto__', 'constructor', 'prototype'].map((key) =>
      bad(`key ${key}`, also(`"${key}":{"isTenantAdmin":true}`)),
    ),
    bad('escaped key __proto__', also('"\\u005f_proto__":{"isTenantAdmin":true}')),
    bad('nested 33 deep', also(`"properties":${'{"a":'.repeat(33)}1${'}'.repeat(33)}`)),
    bad('nested 100,000 deep', also(`"properties":${'['.repeat(100_000)}${']'.repeat(100_000)}`)),
    bad('2,001 keys', also(`"properties":{${Array.from({ length: 2001 }, (_, at) => `"k${at}":1`).join(',')}}`)),
    bad('invalid UTF-8', Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff, 0xc0, 0x80]), Buffer.from('"}')])),
    bad('UTF-16', Buffer.from(text, 'utf16le')),
    { what: '10 MB', payload: `{"a":"${'x'.repeat(10_000_000)}"}`, statuses: [413] },
    ...badContentTypes(text, also('"noSuchProperty":1')),
  ];
}

function badContentTypes(text: string, wrong: string): BadBody[] {
  const refused = [
    'text/plain',
    '',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/json-patch+json',
    'application/*',
    '*/*',
  ];
  // Whether these count as JSON is a matter of taste; what they carry has to be checked either way.
  const odd = [
    'application/json; charset=utf-8',
    'application/json;charset=utf-16',
    'APPLICATION/JSON',
    'application/json;',
    'application/json; a="b;c"',
    'application/json\t',
    'application/json\t; charset=utf-8',
    'application/json;\tcharset=utf-8',
    'application/json, text/plain',
    'application/json; charset=utf-8; charset=x',
    'application/json x',
    'application/json/x',
    'application/json; =',
    'application/json;;',
  ];
  return [
    ...[...refused, undefined].map((contentType) => ({
      what: `content type ${contentType}`,
      payload: text,
      contentType,
      statuses: [415],
    })),
    ...odd.map((contentType) => ({
      what: `content type ${JSON.stringify(contentType)}`,
      payload: wrong,
      contentType,
      statuses: [400, 415],
    })),
  ].map((body) => ({ ...body, contentType: body.contentType ?? 'none' }));
}

/** The JSON types that a schema lets through; an integer is a number too. */
function typesOf(schema: JsonSchema): Set<string> {
  const found = new Set<string>();
  for (const option of schema.anyOf ?? [schema]) {
    if (option !== schema) for (const type of typesOf(option)) found.add(type);
    for (const value of option.enum ?? ('const' in option ? [option.const] : []))
      found.add(value === null ? 'null' : typeof value);
    if (option.type !== undefined) found.add(option.type);
  }
  if (found.has('number')) found.add('integer');
  return found;
}

function formatsOf(schema: JsonSchema): string[] {
  return (schema.anyOf ?? [schema]).flatMap((option) => (option.format === undefined ? [] : [option.format]));
}

/** Every property that both the schema and the valid body know, nested ones included. */
function placesIn(schema: JsonSchema, value: unknown, path: string[] = []): Place[] {
  return children(schema, value).flatMap(([name, child, inner]) => [
    { path: [...path, name], schema: child },
    ...placesIn(child, inner, [...path, name]),
  ]);
}

function requiredIn(schema: JsonSchema, value: unknown, path: string[] = []): string[][] {
  const own = objectOptions(schema).flatMap((option) => option.required ?? []);
  return [
    ...own.map((name) => [...path, name]),
    ...children(schema, value).flatMap(([name, child, inner]) => requiredIn(child, inner, [...path, name])),
  ];
}

function closedIn(schema: JsonSchema, value: unknown, path: string[] = []): string[][] {
  const isClosed = objectOptions(schema).some((option) => option.additionalProperties === false) && isObject(value);
  return [
    ...(isClosed ? [path] : []),
    ...children(schema, value).flatMap(([name, child, inner]) => closedIn(child, inner, [...path, name])),
  ];
}

function children(schema: JsonSchema, value: unknown): [string, JsonSchema, unknown][] {
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]): [string, JsonSchema, unknown][] => {
    const known = objectOptions(schema).flatMap((option) => {
      const patterns = Object.entries(option.patternProperties ?? {}).filter(
        ([pattern, child]) => new RegExp(pattern).test(name) && Object.keys(child).length > 0,
      );
      const named = option.properties?.[name];
      return named === undefined ? patterns.map(([, child]) => child) : [named];
    });
    return known[0] === undefined ? [] : [[name, known[0], inner]];
  });
}

function objectOptions(schema: JsonSchema): JsonSchema[] {
  return (schema.anyOf ?? [schema]).filter((option) => option.type === 'object');
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A copy with another value at the path. */
function replace(body: Json, path: readonly string[], value: unknown): Json {
  const [name, ...rest] = path;
  return { ...body, [name!]: rest.length === 0 ? value : replace(body[name!] as Json, rest, value) };
}

function without(body: Json, path: readonly string[]): Json {
  const [name, ...rest] = path;
  if (rest.length > 0) return { ...body, [name!]: without(body[name!] as Json, rest) };
  const { [name!]: _removed, ...others } = body;
  return others;
}
