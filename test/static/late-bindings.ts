import { parseSync } from 'oxc-parser';

/** A node of the syntax tree of oxc. */
interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** A binding of a function: where its declaration begins, and where it has its value. */
interface Binding {
  readonly from: number;
  readonly to: number;
  /** The value is a function, which may call itself. */
  readonly isFunction: boolean;
}

interface Scope {
  readonly bindings: ReadonlyMap<string, Binding | undefined>;
  /** Number of functions around it. */
  readonly depth: number;
}

/**
 * The variables of a function that a closure in it uses above their declaration, or in it, as `NAME (line LINE)`: the closure is made
 * before the variable has its value. Variables of modules are left out, and so is a function that calls itself.
 */
export function lateBindings(file: string, text: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: SyntaxNode, scopes: readonly Scope[], depth: number): void => {
    if (node.type === 'Identifier') {
      const scope = scopes.findLast(({ bindings }) => bindings.has(String(node.name)));
      const binding = scope?.bindings.get(String(node.name));
      if (scope === undefined || binding === undefined || scope.depth === 0 || scope.depth === depth) return;
      const isIn = node.start >= binding.from && node.start < binding.to;
      if (node.start < binding.from || (isIn && !binding.isFunction))
        found.push(`${node.name} (line ${text.slice(0, node.start).split('\n').length})`);
      return;
    }
    const isFunction = FUNCTIONS.has(node.type);
    const inner = isFunction ? depth + 1 : depth;
    const within = [...scopes, { bindings: isFunction ? parameters(node) : declared(node), depth: inner }];
    for (const child of children(node)) visit(child, within, inner);
  };
  visit(parseSync(file, text).program as unknown as SyntaxNode, [], 0);
  return found;
}

const FUNCTIONS: ReadonlySet<string> = new Set([
  'ArrowFunctionExpression',
  'FunctionExpression',
  'FunctionDeclaration',
]);

/** Nodes of types that have a value. */
const WITH_VALUE: ReadonlySet<string> = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression']);

/** The nodes in a node, without types and without names of members. */
function children(node: SyntaxNode): readonly SyntaxNode[] {
  const names = Object.keys(node).filter(
    (name) => !((name === 'property' || name === 'key') && node.computed !== true),
  );
  return names
    .flatMap((name): unknown => node[name])
    .filter((child): child is SyntaxNode => typeof (child as SyntaxNode | null)?.type === 'string')
    .filter(({ type }) => !type.startsWith('TS') || WITH_VALUE.has(type));
}

function parameters({ params }: SyntaxNode): ReadonlyMap<string, undefined> {
  return new Map((params as readonly SyntaxNode[]).flatMap(namesIn).map((name) => [name, undefined]));
}

/** What a block or a loop declares. */
function declared({ type, body, init, left }: SyntaxNode): ReadonlyMap<string, Binding | undefined> {
  const statements = type === 'BlockStatement' ? body : type.startsWith('For') ? [init ?? left] : [];
  return new Map(
    (statements as readonly SyntaxNode[]).flatMap((statement): readonly (readonly [string, Binding | undefined])[] => {
      if (statement?.type === 'FunctionDeclaration') return [[String((statement.id as SyntaxNode).name), undefined]];
      if (statement?.type !== 'VariableDeclaration') return [];
      return (statement.declarations as readonly SyntaxNode[]).flatMap(({ id, init, start, end }) => {
        const isFunction = FUNCTIONS.has((init as SyntaxNode | null)?.type ?? '');
        return namesIn(id as SyntaxNode).map((name) => [name, { from: start, to: end, isFunction }] as const);
      });
    }),
  );
}

/** The names that a pattern declares. */
function namesIn(pattern: SyntaxNode): readonly string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [String(pattern.name)];
    case 'AssignmentPattern':
      return namesIn(pattern.left as SyntaxNode);
    case 'Property':
      return namesIn(pattern.value as SyntaxNode);
    default:
      return children(pattern).flatMap(namesIn);
  }
}
