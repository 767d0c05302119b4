import { parseSync } from '@swc/core';

/** A node of swc's syntax tree; only what the checks look at is named. */
export type Node = { type: string; span?: { start: number; end: number }; [key: string]: unknown };

/** One call of a chain such as `db.selectFrom('users').where(…)`. */
export type Call = { name: string; args: Node[]; node: Node };

export type Declaration = { name: string; node: Node; text: string };

/** A TypeScript file with its top-level declarations, which is how the checks name a place. */
export class Source {
  readonly file: string;
  readonly declarations: readonly Declaration[];
  readonly #bytes: Buffer;
  readonly #parents = new WeakMap<Node, Node>();

  constructor(file: string, text: string) {
    this.file = file;
    // swc counts in bytes and begins with the first token: the semicolon makes that the start of the file.
    this.#bytes = Buffer.from(`;${text}`);
    const { body } = parseSync(`;${text}`, { syntax: 'typescript', tsx: file.endsWith('x'), target: 'esnext' });
    this.declarations = (body as unknown as Node[]).flatMap((node) => this.#declared(node));
  }

  /** Whether the file imports this name from that module. */
  imports(name: string, from: string): boolean {
    return this.declarations.some(({ node, text }) => {
      const { value } = (node['source'] as { value?: string } | undefined) ?? {};
      return node.type === 'ImportDeclaration' && value === from && new RegExp(`\\b${name}\\b`).test(text);
    });
  }

  place(node: Node): string {
    const line = this.#bytes.subarray(0, node.span!.start).toString().split('\n').length;
    return `${this.file}:${line}`;
  }

  parent(node: Node): Node | undefined {
    return this.#parents.get(node);
  }

  /** The whole chain that `call` begins. */
  chain(call: Node): Call[] {
    const calls: Call[] = [];
    for (let node: Node | undefined = call; node !== undefined;) {
      calls.push({ name: methodOf(node)!, args: argumentsOf(node), node });
      const member: Node | undefined = this.parent(node);
      const next: Node | undefined = member?.type === 'MemberExpression' ? this.parent(member) : undefined;
      node = next?.type === 'CallExpression' && next['callee'] === member ? next : undefined;
    }
    return calls;
  }

  #declared(statement: Node): Declaration[] {
    const node = statement.type === 'ExportDeclaration' ? (statement['declaration'] as Node) : statement;
    const ids =
      node.type === 'VariableDeclaration' ? (node['declarations'] as Node[]).map(({ id }) => id) : [node['identifier']];
    const name = (ids[0] as { value?: string } | undefined)?.value;
    for (const { child, parent } of descend(node)) this.#parents.set(child, parent);
    const { start, end } = statement.span!;
    const text = this.#bytes.subarray(start - 1, end - 1).toString();
    return [{ name: name ?? '', node, text }];
  }
}

/** Every node below this one. */
export function* below(node: Node): Generator<Node> {
  for (const { child } of descend(node)) yield child;
}

function* descend(parent: Node): Generator<{ child: Node; parent: Node }> {
  for (const value of Object.values(parent).flat()) {
    for (const child of isNode(value) ? [value] : wrapped(value)) {
      yield { child, parent };
      yield* descend(child);
    }
  }
}

// Arguments are in a wrapper that is not a node itself: { spread, expression }.
function wrapped(value: unknown): Node[] {
  return typeof value === 'object' && value !== null ? Object.values(value).filter(isNode) : [];
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}

/** `name` of `anything.name(…)`. */
export function methodOf(node: Node): string | undefined {
  const callee = node.type === 'CallExpression' ? (node['callee'] as Node) : undefined;
  return callee?.type === 'MemberExpression' ? (callee['property'] as { value?: string }).value : undefined;
}

function argumentsOf(call: Node): Node[] {
  return (call['arguments'] as { expression: Node }[]).map(({ expression }) => plain(expression));
}

/** The expression without parentheses and type assertions around it. */
function plain(node: Node): Node {
  return /^(Ts(As|Const|NonNull|Satisfies)|Parenthesis)/.test(node.type) ? plain(node['expression'] as Node) : node;
}

export function stringOf(node: Node | undefined): string | undefined {
  return node?.type === 'StringLiteral' ? (node['value'] as string) : undefined;
}

/** The text of a string or template; what is put in stands as `${}`. */
export function textOf(node: Node): string {
  const parts = (node['quasis'] as { cooked: string }[] | undefined)?.map(({ cooked }) => cooked);
  return parts?.join('${}') ?? stringOf(node) ?? '';
}

/** The strings anywhere in it. */
export function stringsIn(node: Node): string[] {
  return [node, ...below(node)].flatMap((each) => stringOf(each) ?? []);
}
