import type { TObject, TSchema } from 'typebox';

import { formats } from '#core/http/formats';

type Query = Record<string, unknown>;
/** What is looked at in a schema. */
type Node = {
  format?: string;
  enum?: string[];
  properties?: Record<string, Node>;
  items?: Node;
  anyOf?: Node[];
};

/** Renames in place what a query spells in its own way, snake_case or camelCase: its parameters, and the field of `sort`. */
export function fieldSpellings(schema: TObject | undefined): (query: Query) => void {
  if (schema === undefined) return () => undefined;
  const { properties }: Node = schema;
  const own = new Set(Object.keys(properties ?? {}));
  const names = byFoldedName([...own]);
  const sorts = bySpelling(properties?.sort?.enum ?? []);
  return (query) => {
    for (const given of Object.keys(query)) {
      if (own.has(given)) continue;
      const name = names.get(foldName(given));
      if (name !== undefined && query[name] === undefined) query[name] = query[given];
    }
    const sort = typeof query.sort === 'string' ? sorts.get(query.sort) : undefined;
    if (sort !== undefined) query.sort = sort;
  };
}

function byFoldedName(names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [foldName(name), name]));
}

/** Each value under both of its spellings; case is part of a spelling. */
function bySpelling(values: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    values.flatMap((value): [string, string][] => [
      [value, value],
      [snakeCase(value), value],
      [camelCase(value), value],
    ]),
  );
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z\d])/g, (_match, letter: string) => letter.toUpperCase());
}

function foldName(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

type Fold = (value: unknown) => unknown;

/** Lower-cases in place the ids in a value that the schema has accepted, so that they equal those of rows as texts too. */
export function idFolding(schema: TSchema): Fold {
  return foldingOf(schema) ?? ((value) => value);
}

function foldingOf(node: Node): Fold | undefined {
  if (node.format === 'uuid') return foldId;
  const properties = Object.entries(node.properties ?? {}).flatMap(([name, child]): [string, Fold][] => {
    const fold = foldingOf(child);
    return fold === undefined ? [] : [[name, fold]];
  });
  const foldItem = node.items === undefined ? undefined : foldingOf(node.items);
  const options = (node.anyOf ?? []).map(foldingOf).filter((fold) => fold !== undefined);
  if (properties.length === 0 && foldItem === undefined && options.length === 0) return undefined;
  return (value) => {
    if (Array.isArray(value)) foldItems(value, foldItem);
    else if (typeof value === 'object' && value !== null) foldProperties(value as Query, properties);
    let folded = value;
    for (const fold of options) folded = fold(folded);
    return folded;
  };
}

// Where an id is one of several things that a value may be, it need not be one.
function foldId(value: unknown): unknown {
  return typeof value === 'string' && formats.uuid!(value) ? value.toLowerCase() : value;
}

function foldProperties(value: Query, properties: readonly [string, Fold][]): void {
  for (const [name, fold] of properties) if (Object.hasOwn(value, name)) value[name] = fold(value[name]);
}

function foldItems(items: unknown[], fold: Fold | undefined): void {
  if (fold === undefined) return;
  for (const [at, item] of items.entries()) items[at] = fold(item);
}
