import type { JsonSchema, Subschema } from '#modules/type-definitions/json-schemas.rules';

/** Evaluates a value; returns `undefined` if that takes more steps than allowed. */
export type Evaluation = (value: unknown) => FoundError[] | undefined;

/** The path to a value, as names and positions, and the error message. */
export type FoundError = { steps: string[]; message: string };

export type StringFormats = Record<string, (text: string) => boolean>;

export const unknownProperty = 'is not a known property';

type Place = { parent: Place; step: string } | undefined;
type Rule = (value: unknown, at: Place, run: Run) => boolean;
type RuleOf<Argument> = (argument: Argument, schema: JsonSchema) => Rule;

class TooManySteps extends Error {}

/** The errors and the steps of one evaluation. It caches work that grows with the size of a value. */
class Run {
  errors: { at: Place; message: string }[] = [];
  readonly #lengths = new Map<string, number>();
  readonly #fits = new Map<string, Map<string, boolean>>();
  readonly #canonical = new Map<object, string>();
  readonly #unique = new Map<unknown[], boolean>();
  readonly #formats: StringFormats;
  #stepsLeft: number;

  constructor(maxSteps: number, formats: StringFormats) {
    this.#stepsLeft = maxSteps;
    this.#formats = formats;
  }

  spend(steps: number): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw new TooManySteps();
  }

  /** Also costs a step, because a schema that refuses many values has no other cost for them. */
  fail(at: Place, message: string): false {
    this.spend(1);
    this.errors.push({ at, message });
    return false;
  }

  /** The length in characters; a surrogate pair is one character. */
  lengthOf(text: string): number {
    return remembered(this.#lengths, text, () => {
      let pairs = 0;
      for (let at = 0; at < text.length; at++) if (text.codePointAt(at)! > 0xff_ff) pairs += 1;
      return text.length - pairs;
    });
  }

  hasFormat(text: string, format: string): boolean {
    const known = remembered(this.#fits, format, () => new Map<string, boolean>());
    return remembered(known, text, () => this.#formats[format]!(text));
  }

  /** Compares canonical texts, because pairwise comparison takes a second for 16,000 items. */
  isUnique(items: unknown[]): boolean {
    return remembered(
      this.#unique,
      items,
      () => new Set(items.map((item) => this.#canonicalOf(item))).size === items.length,
    );
  }

  #canonicalOf(value: unknown): string {
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    return remembered(this.#canonical, value, () => {
      if (Array.isArray(value)) return `[${value.map((item) => this.#canonicalOf(item)).join(',')}]`;
      const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
      return `{${entries.map(([name, item]) => `${JSON.stringify(name)}:${this.#canonicalOf(item)}`).join(',')}}`;
    });
  }
}

function remembered<Key, Value>(known: Map<Key, Value>, key: Key, work: () => Value): Value {
  let value = known.get(key);
  if (value === undefined) known.set(key, (value = work()));
  return value;
}

const isNumber = (value: unknown) => typeof value === 'number';
const isString = (value: unknown) => typeof value === 'string';
const isArray = (value: unknown): value is unknown[] => Array.isArray(value);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const types: Record<string, (value: unknown) => boolean> = {
  string: isString,
  number: isNumber,
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  object: isObject,
  array: isArray,
  null: (value) => value === null,
};

/** A rule for values of one kind; values of other kinds pass. */
function ruleFor<Value, Argument>(
  isOfKind: (value: unknown) => value is Value,
  passes: (value: Value, argument: Argument, run: Run) => boolean,
  message: (argument: Argument) => string,
): RuleOf<Argument> {
  return (argument) => {
    const text = message(argument);
    return (value, at, run) => !isOfKind(value) || passes(value, argument, run) || run.fail(at, text);
  };
}

function isMultiple(value: number, divisor: number): boolean {
  const quotient = value / divisor;
  return Math.abs(Math.round(quotient) - quotient) <= 1e-9;
}

const characters = (limit: number) => `${limit} characters`;
const items = (limit: number) => `${limit} items`;
const properties = (limit: number) => `${limit} properties`;
const fewer = (what: (limit: number) => string) => (limit: number) => `must NOT have fewer than ${what(limit)}`;
const more = (what: (limit: number) => string) => (limit: number) => `must NOT have more than ${what(limit)}`;
const countOf = (value: object) => Object.keys(value).length;

/** Rules that depend only on their argument and the value. */
const scalarRules = {
  type: (argument: string | string[]): Rule => {
    const names = [argument].flat();
    const message = `must be ${names.join(',')}`;
    return (value, at, run) => names.some((name) => types[name]!(value)) || run.fail(at, message);
  },
  enum: (argument: unknown[]): Rule => {
    const allowed = new Set(argument);
    return (value, at, run) => allowed.has(value) || run.fail(at, 'must be equal to one of the allowed values');
  },
  const: (argument: unknown): Rule => {
    return (value, at, run) => value === argument || run.fail(at, 'must be equal to constant');
  },
  minimum: ruleFor(
    isNumber,
    (value, limit: number) => value >= limit,
    (limit) => `must be >= ${limit}`,
  ),
  maximum: ruleFor(
    isNumber,
    (value, limit: number) => value <= limit,
    (limit) => `must be <= ${limit}`,
  ),
  exclusiveMinimum: ruleFor(
    isNumber,
    (value, limit: number) => value > limit,
    (limit) => `must be > ${limit}`,
  ),
  exclusiveMaximum: ruleFor(
    isNumber,
    (value, limit: number) => value < limit,
    (limit) => `must be < ${limit}`,
  ),
  multipleOf: ruleFor(isNumber, isMultiple, (divisor) => `must be multiple of ${divisor}`),
  minLength: ruleFor(
    isString,
    (text, limit: number, run) => text.length >= limit && (text.length >= 2 * limit || run.lengthOf(text) >= limit),
    fewer(characters),
  ),
  maxLength: ruleFor(
    isString,
    (text, limit: number, run) => text.length <= limit || run.lengthOf(text) <= limit,
    more(characters),
  ),
  format: ruleFor(
    isString,
    (text, format: string, run) => run.hasFormat(text, format),
    (format) => `must match format "${format}"`,
  ),
  minItems: ruleFor(isArray, (list, limit: number) => list.length >= limit, fewer(items)),
  maxItems: ruleFor(isArray, (list, limit: number) => list.length <= limit, more(items)),
  uniqueItems: ruleFor(
    isArray,
    (list, isUnique: boolean, run) => !isUnique || run.isUnique(list),
    () => 'must NOT have duplicate items',
  ),
  minProperties: ruleFor(isObject, (value, limit: number) => countOf(value) >= limit, fewer(properties)),
  maxProperties: ruleFor(isObject, (value, limit: number) => countOf(value) <= limit, more(properties)),
  required: (names: string[]): Rule => {
    return (value, at, run) => {
      if (!isObject(value)) return true;
      const missing = names.filter((name) => !Object.hasOwn(value, name));
      for (const step of missing) run.fail({ parent: at, step }, 'is required');
      return missing.length === 0;
    };
  },
} satisfies Record<string, RuleOf<never>>;

function itemsRule(item: Subschema): Rule {
  const rule = build(item);
  return (value, at, run) => {
    if (!isArray(value)) return true;
    let fits = true;
    for (const [index, one] of value.entries()) fits = rule(one, { parent: at, step: `${index}` }, run) && fits;
    return fits;
  };
}

/** Iterates over the properties of the value, not of the schema, so that small values are cheap to check. */
function propertiesRule({ properties: named = {}, additionalProperties: other = true }: JsonSchema): Rule {
  const rules = new Map(Object.entries(named).map(([name, schema]) => [name, build(schema)]));
  const otherRule: Rule = other === false ? (_value, at, run) => run.fail(at, unknownProperty) : build(other);
  return (value, at, run) => {
    if (!isObject(value)) return true;
    let fits = true;
    for (const step of Object.keys(value)) {
      fits = (rules.get(step) ?? otherRule)(value[step], { parent: at, step }, run) && fits;
    }
    return fits;
  };
}

/** Checks a value against a rule without recording errors. */
function fitsQuietly(rule: Rule, value: unknown, at: Place, run: Run): boolean {
  const before = run.errors.length;
  const fits = rule(value, at, run);
  run.errors.length = before;
  return fits;
}

function alternativesRule(schemas: Subschema[], { max, message }: { max: number; message: string }): Rule {
  const rules = schemas.map(build);
  return (value, at, run) => {
    const before = run.errors.length;
    let fitting = 0;
    for (const rule of rules) {
      if (rule(value, at, run) && ++fitting > max) break;
      if (fitting > 0 && max === Infinity) break;
    }
    if (fitting === 0 || fitting > max) return run.fail(at, message);
    run.errors.length = before;
    return true;
  };
}

function allRule(schemas: Subschema[]): Rule {
  const rules = schemas.map(build);
  return (value, at, run) => rules.map((rule) => rule(value, at, run)).every(Boolean);
}

function notRule(schema: Subschema): Rule {
  const rule = build(schema);
  return (value, at, run) => !fitsQuietly(rule, value, at, run) || run.fail(at, 'must NOT be valid');
}

function conditionRule(condition: Subschema, { then = true, else: otherwise = true }: JsonSchema): Rule {
  const rule = build(condition);
  const fitting = build(then);
  const unfitting = build(otherwise);
  return (value, at, run) => {
    if (fitsQuietly(rule, value, at, run)) return fitting(value, at, run) || run.fail(at, 'must match "then" schema');
    return unfitting(value, at, run) || run.fail(at, 'must match "else" schema');
  };
}

const rules: Record<string, RuleOf<never>> = {
  ...scalarRules,
  items: itemsRule,
  properties: (_properties, schema) => propertiesRule(schema),
  additionalProperties: (_other, schema) => (schema.properties === undefined ? propertiesRule(schema) : () => true),
  anyOf: (schemas: Subschema[]) =>
    alternativesRule(schemas, { max: Infinity, message: 'must match a schema in anyOf' }),
  oneOf: (schemas: Subschema[]) =>
    alternativesRule(schemas, { max: 1, message: 'must match exactly one schema in oneOf' }),
  allOf: allRule,
  not: notRule,
  if: conditionRule,
};

const always: Rule = (_value, _at, run) => {
  run.spend(1);
  return true;
};

function build(schema: Subschema): Rule {
  if (schema === true) return always;
  if (schema === false) return (_value, at, run) => run.fail(at, 'boolean schema is false');
  const own = Object.entries(rules).filter(([name]) => Object.hasOwn(schema, name));
  const checks = own.map(([name, rule]) => rule((schema as Record<string, unknown>)[name] as never, schema));
  const steps = 1 + countOf(schema) + (schema.required?.length ?? 0);
  return (value, at, run) => {
    run.spend(steps);
    let fits = true;
    for (const check of checks) fits = check(value, at, run) && fits;
    return fits;
  };
}

function stepsTo(place: Place): string[] {
  return place === undefined ? [] : [...stepsTo(place.parent), place.step];
}

/**
 * Prepares a schema for evaluation. It is interpreted, not compiled: compiling the schema of a tenant can block the thread of
 * all tenants for 100 ms and more.
 * @param limits `steps` bounds the time of one evaluation: it counts the keywords applied to each value.
 */
export function prepareEvaluation(
  schema: JsonSchema,
  limits: { steps: number; errors: number },
  formats: StringFormats,
): Evaluation {
  const rule = build(schema);
  return (value) => {
    const run = new Run(limits.steps, formats);
    try {
      rule(value, undefined, run);
    } catch (error) {
      if (error instanceof TooManySteps) return undefined;
      throw error;
    }
    return run.errors.slice(0, limits.errors).map(({ at, message }) => ({ steps: stepsTo(at), message }));
  };
}
