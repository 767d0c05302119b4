import { below, methodOf, stringOf, textOf, type Declaration, type Node, type Source } from './source.ts';

type Kind = 'read' | 'lock' | 'write' | 'audited';

/** The functions of `core/data/db/query` that declare what a statement does. */
const declaring = new Map<string, Kind>([
  ['read', 'read'],
  ['toRead', 'read'],
  ['lock', 'lock'],
  ['write', 'write'],
  ['toWrite', 'write'],
]);

const changingMethods = new Set(['insertInto', 'replaceInto', 'updateTable', 'deleteFrom', 'mergeInto']);
const lockingMethods = new Set(['forUpdate', 'forNoKeyUpdate', 'forShare', 'forKeyShare', 'skipLocked', 'noWait']);
const changing =
  /\b(insert\s+into|(?<!\bfor\s+|\bfor\s+no\s+key\s+)update|delete\s+from|merge\s+into|truncate|pg_notify|nextval|setval)\b/i;
const locking = /\bfor\s+(no\s+key\s+update|update|key\s+share|share)\b|\bpg_(try_)?advisory_\w+/i;
const allowedStart = /^\s*(select|with|begin|set\s+local)\b/i;
const auditing = /\binsert\s+into\s+audit_logs\b/i;

/** Where a statement does more than its declaration says: `read` only reads, `lock` changes nothing, `write` writes no audit row. */
export function kindFindings(source: Source, declaration: Declaration): { node: Node; message: string }[] {
  return [declaration.node, ...below(declaration.node)].flatMap((node) => {
    const kind = kindOf(source, node);
    if (kind === undefined || kind === 'audited') return [];
    return effectsOf(source, declaration, node)
      .filter(({ effect }) => (kind === 'write' ? effect === 'audited' : kind === 'read' || effect !== 'lock'))
      .map(({ node: at, what }) => ({ node: at, message: `declared as ${kind}, but contains "${what}"` }));
  });
}

function kindOf(source: Source, node: Node): Kind | undefined {
  if (propertyOf(node, 'prepare') !== undefined) return stringOf(propertyOf(node, 'kind')) as Kind | undefined;
  const callee = node.type === 'CallExpression' ? (node['callee'] as { type: string; value?: string }) : undefined;
  return callee?.type === 'Identifier' && source.imports(callee.value!, '#core/data/db/query')
    ? declaring.get(callee.value!)
    : undefined;
}

type Effect = { effect: Exclude<Kind, 'read'> | 'unknown'; node: Node; what: string };

/** What the statement below a node does, by its own text and by the constants and functions of the file that it names. */
function effectsOf(source: Source, declaration: Declaration, root: Node): Effect[] {
  return reachable(source, declaration, root).flatMap((node): Effect[] => {
    const method = methodOf(node);
    if (method !== undefined && changingMethods.has(method)) {
      const isAudit = stringOf(source.chain(node)[0]!.args[0]) === 'audit_logs';
      return [{ effect: isAudit ? 'audited' : 'write', node, what: method }];
    }
    if (method !== undefined && lockingMethods.has(method)) return [{ effect: 'lock', node, what: method }];
    const isTagged = node.type === 'TemplateLiteral' && source.parent(node)?.type === 'TaggedTemplateExpression';
    const isText = root.type === 'ObjectExpression' && /^(String|Template)Literal$/.test(node.type);
    return isTagged || isText ? effectsOfText(node, isWhole(source, root, node)) : [];
  });
}

function effectsOfText(node: Node, isStatementText: boolean): Effect[] {
  const text = textOf(node);
  const [write] = changing.exec(text) ?? [];
  const [lock] = locking.exec(text) ?? [];
  if (write !== undefined) return [{ effect: auditing.test(text) ? 'audited' : 'write', node, what: write }];
  if (lock !== undefined) return [{ effect: 'lock', node, what: lock }];
  return isStatementText && !allowedStart.test(text)
    ? [{ effect: 'unknown', node, what: text.trim().slice(0, 20) }]
    : [];
}

function isWhole(source: Source, root: Node, node: Node): boolean {
  return propertyOf(root, 'text') === node || isCompiled(source, node) || isStatement(source, root, node);
}

/** A text that is all of what a call such as `read(() => sql`…`)` declares. */
function isStatement(source: Source, root: Node, node: Node): boolean {
  const [given] = (root['arguments'] as { expression: Node }[] | undefined) ?? [];
  const body = given?.expression.type === 'ArrowFunctionExpression' ? given.expression['body'] : given?.expression;
  const statements = (body as Node | undefined)?.['stmts'] as Node[] | undefined;
  const results = statements?.map((statement) => statement['argument']) ?? [body];
  return results.includes(source.parent(node));
}

/** `sql`…`.compile(builder)` is a whole statement, other texts are parts of one. */
function isCompiled(source: Source, node: Node): boolean {
  const member = source.parent(source.parent(node)!);
  return (member?.['property'] as { value?: string } | undefined)?.value === 'compile';
}

function reachable(source: Source, declaration: Declaration, root: Node): Node[] {
  const seen = new Set<Node>();
  const follow = (from: Node): void => {
    if (seen.has(from)) return;
    for (const node of [from, ...below(from)]) {
      if (seen.has(node)) continue;
      seen.add(node);
      if (node.type !== 'Identifier' || isName(source, node)) continue;
      for (const meant of meantBy(source, declaration, node['value'] as string)) follow(meant);
    }
  };
  follow(root);
  return [...seen];
}

/** `name` of `a.name` and of `{ name: 1 }` refers to nothing. */
function isName(source: Source, node: Node): boolean {
  const parent = source.parent(node);
  return parent?.['property'] === node || parent?.['key'] === node;
}

/** The values that a local variable or a declaration of the file may have. */
function meantBy(source: Source, declaration: Declaration, name: string): Node[] {
  const locals = [...below(declaration.node)].flatMap((node): Node[] => {
    const { id, init, left, right } = node as Record<string, Node | undefined>;
    if (node.type === 'VariableDeclarator' && id?.['value'] === name && init) return [init];
    return node.type === 'AssignmentExpression' && left?.['value'] === name ? [right!] : [];
  });
  const isOwn = declaration.name === name;
  const globals = source.declarations.filter((other) => other.name === name && !isOwn).map(({ node }) => node);
  return isOwn ? [] : [...locals, ...globals];
}

function propertyOf(object: Node, name: string): Node | undefined {
  if (object.type !== 'ObjectExpression') return undefined;
  const found = (object['properties'] as Node[]).find(
    (property) => (property['key'] as Node | undefined)?.['value'] === name,
  );
  return found?.['value'] as Node | undefined;
}
