import {
  type Expr,
  type Expr_Call,
  type Expr_Comprehension,
  type Expr_Select,
  ExprSchema,
} from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { clone } from '@bufbuild/protobuf';
import { bind, bool, call, fold, ident, int, list, text } from './expr.ts';
import { OPTIONAL_INDEX, OPTIONAL_SELECT } from './optional-syntax.ts';
import { childrenOf } from './walk.ts';

/** Thrown for an expression that the evaluator cannot evaluate. The message completes "cannot be evaluated: ". */
export class NotSupported extends Error {}

/** Thrown for a name that is not declared. */
export class UnknownVariable extends NotSupported {}

/** What the rewriting knows of an expression. */
interface Scope {
  /** The names of variables; the value says whether it holds an optional value. */
  readonly variables: ReadonlyMap<string, boolean>;
  /** The functions of the evaluator. */
  readonly functions: ReadonlySet<string>;
}

/** A rewritten expression. */
interface Rewritten {
  readonly expr: Expr;
  /** Its value is optional: a list with one item or none. */
  readonly optional: boolean;
}

/** The names of types, and of the namespaces of functions. */
const CONSTANTS: ReadonlySet<string> = new Set(
  'int uint double bool string bytes list map null_type type optional_type google net'.split(' '),
);

/** Functions whose value is optional for every target. */
const MAKES_OPTIONAL: ReadonlySet<string> = new Set(
  'optional.of optional.none optional.ofNonZeroValue format.named validate first last or optMap optFlatMap'.split(' '),
);

/** Operators that the planner of the library evaluates itself. */
const PLANNED: ReadonlySet<string> = new Set(['_[_]', '_?_:_', '_&&_', '_||_', '@not_strictly_false']);

/**
 * Prepares a parsed expression for the evaluator: expands the macros that the parser does not know (`cel.bind`, those with two
 * variables), computes optional values as lists with one item or none, and counts the steps of loops.
 *
 * Throws {@link NotSupported} if the expression has a function or a variable that the evaluator does not know.
 */
export function prepare(expr: Expr, scope: Scope): Expr {
  return rewrite(clone(ExprSchema, expr), scope).expr;
}

function rewrite(expr: Expr, scope: Scope): Rewritten {
  switch (expr.exprKind.case) {
    case 'identExpr': {
      const { name } = expr.exprKind.value;
      const optional = scope.variables.get(name);
      if (optional === undefined && !CONSTANTS.has(name)) throw new UnknownVariable(`${name} is no variable`);
      return { expr, optional: optional === true };
    }
    case 'selectExpr':
      return rewriteSelect(expr, expr.exprKind.value, scope);
    case 'callExpr':
      return rewriteCall(expr, expr.exprKind.value, scope);
    case 'comprehensionExpr':
      return rewriteLoop(expr, expr.exprKind.value, scope);
    case 'listExpr': {
      const { value } = expr.exprKind;
      value.elements = value.elements.map((element) => rewrite(element, scope).expr);
      return plain(expr);
    }
    case 'structExpr':
      if (expr.exprKind.value.messageName !== '') throw new NotSupported('it creates a message');
      for (const entry of expr.exprKind.value.entries) {
        if (entry.keyKind.case === 'mapKey') entry.keyKind.value = rewrite(entry.keyKind.value, scope).expr;
        if (entry.value !== undefined) entry.value = rewrite(entry.value, scope).expr;
      }
      return plain(expr);
    default:
      return plain(expr);
  }
}

function plain(expr: Expr): Rewritten {
  return { expr, optional: false };
}

function optional(expr: Expr): Rewritten {
  return { expr, optional: true };
}

function rewriteSelect(expr: Expr, select: Expr_Select, scope: Scope): Rewritten {
  if (select.operand === undefined) return plain(expr);
  const operand = rewrite(select.operand, scope);
  select.operand = operand.expr;
  if (!operand.optional) return plain(expr);
  const selected = call('@optional_field', operand.expr, text(select.field));
  return select.testOnly ? plain(call('@is_present', selected)) : optional(selected);
}

function rewriteCall(expr: Expr, value: Expr_Call, scope: Scope): Rewritten {
  const macro = expandMacro(value, scope);
  if (macro !== undefined) return macro;
  const { function: name, target } = value;
  const qualified = target === undefined ? name : qualifiedName(target, name);
  const isNamespaced = qualified !== undefined && scope.functions.has(qualified);
  if (!isNamespaced && !scope.functions.has(name) && !PLANNED.has(name)) {
    throw new NotSupported(`the function ${qualified ?? name} is unknown`);
  }
  const rewrittenTarget = target === undefined || isNamespaced ? undefined : rewrite(target, scope);
  if (rewrittenTarget !== undefined) value.target = rewrittenTarget.expr;
  const args = value.args.map((arg) => rewrite(arg, scope));
  value.args = args.map((arg) => arg.expr);
  if (name === '_[_]' && args[0]?.optional === true && args[1] !== undefined) {
    return optional(call('@optional_field', args[0].expr, args[1].expr));
  }
  if (MAKES_OPTIONAL.has(isNamespaced ? (qualified ?? name) : name)) return optional(expr);
  return name === '_?_:_' && (args[1]?.optional === true || args[2]?.optional === true) ? optional(expr) : plain(expr);
}

/** `a.b` of the target `a` and the name `b`; undefined if the target is no name. */
function qualifiedName(target: Expr, name: string): string | undefined {
  return target.exprKind.case === 'identExpr' ? `${target.exprKind.value.name}.${name}` : undefined;
}

function nameOf(expr: Expr | undefined): string {
  if (expr?.exprKind.case === 'identExpr') return expr.exprKind.value.name;
  throw new NotSupported('the variable of a macro is no name');
}

/** Expands the macros that the parser leaves as calls; undefined if the call is none of them. */
function expandMacro({ function: name, target, args }: Expr_Call, scope: Scope): Rewritten | undefined {
  const [first, second, third, fourth] = args;
  if (target === undefined || first === undefined) return undefined;
  switch (name) {
    case OPTIONAL_SELECT:
    case OPTIONAL_INDEX: {
      const { expr, optional: isOptional } = rewrite(target, scope);
      const key = rewrite(first, scope).expr;
      return optional(call('@optional_field', isOptional ? expr : list(expr), key));
    }
    case 'bind':
      if (qualifiedName(target, name) !== 'cel.bind' || second === undefined || third === undefined) return undefined;
      return rewriteBind(nameOf(first), rewrite(second, scope), third, scope);
    case 'optMap':
    case 'optFlatMap': {
      if (second === undefined) return undefined;
      const from = rewrite(target, scope);
      const variable = nameOf(first);
      const value = call('@the', ident('@from'));
      const inner = withVariables(scope, ['@from', true]);
      const body = rewriteBind(variable, rewrite(value, inner), second, inner);
      const mapped = name === 'optMap' ? list(body.expr) : body.expr;
      const present = call('@is_present', ident('@from'));
      return optional(bind('@from', from.expr, call('_?_:_', present, mapped, list())));
    }
    case 'all':
    case 'exists':
    case 'existsOne':
    case 'exists_one':
      return second === undefined || third === undefined
        ? undefined
        : loopOfTwo(target, nameOf(first), nameOf(second), scope, (keys, key, inner) =>
            quantifier(name, keys, key, inner(third)),
          );
    case 'sortBy': {
      if (second === undefined) return undefined;
      const range = ident('@range');
      const variable = nameOf(first);
      const key = rewrite(second, withVariables(scope, ['@range', false], [variable, false])).expr;
      const sorted = call('@sort_by', range, collect(range, variable, key));
      return plain(bind('@range', rewrite(target, scope).expr, sorted));
    }
    case 'transformList':
      return second === undefined || third === undefined
        ? undefined
        : loopOfTwo(target, nameOf(first), nameOf(second), scope, (keys, key, inner) =>
            fourth === undefined
              ? collect(keys, key, inner(third))
              : collect(collect(keys, key, ident(key), inner(third)), key, inner(fourth)),
          );
    case 'transformMap':
      return second === undefined || third === undefined
        ? undefined
        : loopOfTwo(target, nameOf(first), nameOf(second), scope, (keys, key, inner) => {
            const kept = fourth === undefined ? keys : collect(keys, key, ident(key), inner(third));
            const values = collect(ident('@kept'), key, inner(fourth ?? third));
            return bind('@kept', kept, call('@map', ident('@kept'), values));
          });
    default:
      return undefined;
  }
}

function withVariables(scope: Scope, ...variables: readonly (readonly [string, boolean])[]): Scope {
  return { ...scope, variables: new Map([...scope.variables, ...variables]) };
}

function rewriteBind(name: string, value: Rewritten, body: Expr, scope: Scope): Rewritten {
  const inner = rewrite(body, withVariables(scope, [name, value.optional]));
  return { expr: bind(name, value.expr, inner.expr), optional: inner.optional };
}

/**
 * A loop over the keys and values of a mapping, or the indexes and items of a list. `make` gets the keys, the variable of the
 * key, and a function that rewrites an expression of the loop so that both variables are set.
 */
function loopOfTwo(
  target: Expr,
  key: string,
  item: string,
  scope: Scope,
  make: (keys: Expr, key: string, inner: (body: Expr) => Expr) => Expr,
): Rewritten {
  const range = rewrite(target, scope).expr;
  const inner = withVariables(scope, ['@range', false], ['@kept', false], [key, false], [item, false]);
  const body = (expr: Expr): Expr =>
    bind(item, call('_[_]', ident('@range'), ident(key)), rewrite(clone(ExprSchema, expr), inner).expr);
  return plain(bind('@range', range, make(call('@keys', ident('@range')), key, body)));
}

/** A loop that ends at the first item that decides. As in every quantifier, an error counts only if no other item decides. */
function quantifier(name: string, range: Expr, variable: string, predicate: Expr): Expr {
  if (name !== 'all' && name !== 'exists') {
    return call('_==_', call('size', collect(range, variable, ident(variable), predicate)), int(1));
  }
  const accumulator = ident('@decided');
  const isAll = name === 'all';
  const condition = call('@not_strictly_false', isAll ? accumulator : call('!_', accumulator));
  return fold({
    variable,
    range: call('@range', range),
    accumulator: '@decided',
    init: bool(isAll),
    result: accumulator,
    condition: counted([predicate], condition),
    step: call(isAll ? '_&&_' : '_||_', accumulator, predicate),
  });
}

/** The values of `value` for each item of the range, without those for which `predicate` is false. */
function collect(range: Expr, variable: string, value: Expr, predicate?: Expr): Expr {
  const accumulator = ident('@collected');
  const pushed = call('@push', accumulator, value);
  return fold({
    variable,
    range: call('@range', range),
    accumulator: '@collected',
    init: list(),
    result: accumulator,
    condition: counted([value, ...(predicate === undefined ? [] : [predicate])], bool(true)),
    step: predicate === undefined ? pushed : call('_?_:_', predicate, pushed, accumulator),
  });
}

function rewriteLoop(expr: Expr, loop: Expr_Comprehension, scope: Scope): Rewritten {
  const { iterRange, accuInit, loopCondition, loopStep, result, iterVar, accuVar } = loop;
  if (!iterRange || !accuInit || !loopCondition || !loopStep || !result) return plain(expr);
  const inner = withVariables(scope, [accuVar, false], [iterVar, false]);
  loop.iterRange = call('@range', rewrite(iterRange, scope).expr);
  loop.accuInit = rewrite(accuInit, scope).expr;
  loop.loopStep = pushing(rewrite(loopStep, inner).expr, accuVar);
  loop.loopCondition = counted([loop.loopStep], rewrite(loopCondition, inner).expr);
  loop.result = rewrite(result, inner).expr;
  return plain(expr);
}

/** `list + [item]` of the macros `map` and `filter` adds to the list that the loop makes, instead of copying it. */
function pushing(step: Expr, accumulator: string): Expr {
  if (step.exprKind.case !== 'callExpr') return step;
  const { function: name, args } = step.exprKind.value;
  if (name === '_?_:_') step.exprKind.value.args = args.map((arg, at) => (at === 0 ? arg : pushing(arg, accumulator)));
  const [left, right] = args;
  if (name !== '_+_' || left?.exprKind.case !== 'identExpr' || right?.exprKind.case !== 'listExpr') return step;
  const [item] = right.exprKind.value.elements;
  return left.exprKind.value.name === accumulator && item !== undefined ? call('@push', left, item) : step;
}

/** A condition that counts the nodes which each round of its loop evaluates. Inner loops count their own. */
function counted(body: readonly Expr[], condition: Expr): Expr {
  return call('@step', int(body.reduce((sum, expr) => sum + nodesOf(expr), 1)), condition);
}

/** The number of nodes that an evaluation of an expression visits, without nodes in loops, which count their own. */
export function nodesOf(expr: Expr | undefined): number {
  switch (expr?.exprKind.case) {
    case undefined:
      return 0;
    case 'selectExpr':
      return 1 + nodesOf(expr.exprKind.value.operand);
    case 'callExpr':
      return expr.exprKind.value.args.reduce((sum, arg) => sum + nodesOf(arg), 1 + nodesOf(expr.exprKind.value.target));
    case 'listExpr':
      return expr.exprKind.value.elements.reduce((sum, element) => sum + nodesOf(element), 1);
    case 'structExpr':
      return expr.exprKind.value.entries.reduce((sum, entry) => sum + 1 + nodesOf(entry.value), 1);
    case 'comprehensionExpr':
      return 1 + nodesOf(expr.exprKind.value.iterRange) + nodesOf(expr.exprKind.value.result);
    default:
      return 1;
  }
}

/** Whether an expression as it is written reads the variable. */
export function usesVariable(expr: Expr | undefined, name: string): boolean {
  if (expr === undefined) return false;
  if (expr.exprKind.case === 'identExpr') return expr.exprKind.value.name === name;
  return childrenOf(expr).some((child) => usesVariable(child, name));
}
