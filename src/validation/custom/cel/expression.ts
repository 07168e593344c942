import { type CelResult, type CelValue, isCelError, parse, plan } from '@bufbuild/cel';
import type { Expr } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import type { DeclaredExpression } from '../../expressions.ts';
import { TooMuchWork } from '../../values/meter.ts';
import { type CallFault, declaredFunctions, deviceFunctions, faultOfCalls } from './declared-functions.ts';
import type { Environment } from './environment.ts';
import { faultOfFields } from './field-references.ts';
import { withoutOptionalSyntax } from './optional-syntax.ts';
import { NotSupported, nodesOf, prepare, UnknownVariable, usesVariable } from './rewrite.ts';
import { childrenOf } from './walk.ts';

/** The longest expression that is read, in characters, and the deepest. */
const MAX_LENGTH = 20_000;
const MAX_DEPTH = 100;

/** The variables of an evaluation. */
export type Variables = Readonly<Record<string, CelValue>>;

/** Variables that hold no optional value, as {@link compileExpression} takes them. */
export function declared(names: readonly string[]): ReadonlyMap<string, boolean> {
  return new Map(names.map((name) => [name, false]));
}

/** A compiled expression. */
export interface Expression {
  /** Whether it compares with the state before an update. */
  readonly usesOldSelf: boolean;
  evaluate(variables: Variables): Outcome;
}

/**
 * The result of an evaluation. `failed`: CEL itself defines it as an error, so an API server refuses the object. `unknown`:
 * this evaluator cannot say, and `why` completes "cannot be evaluated: ". `tooMuch`: it takes more steps than the meter has.
 */
export type Outcome =
  | { readonly type: 'value'; readonly value: CelValue }
  | { readonly type: 'failed'; readonly why: string }
  | { readonly type: 'unknown'; readonly why: string }
  | { readonly type: 'tooMuch' };

/**
 * Compiles an expression. Returns a text that completes "cannot be evaluated: " if the evaluator cannot evaluate it.
 *
 * @param variables the names that are declared; the value says whether it holds an optional value
 */
export function compileExpression(
  { env, functions, meter }: Environment,
  source: string,
  variables: ReadonlyMap<string, boolean>,
): Expression | string {
  try {
    if (source.length > MAX_LENGTH) return `it has more than ${MAX_LENGTH} characters`;
    if (depthOf(source) > MAX_DEPTH) return `its brackets are nested deeper than ${MAX_DEPTH}`;
    const { expr } = parse(readable(source));
    if (expr === undefined) return 'it is empty';
    const prepared = prepare(expr, { variables, functions });
    const planned = plan(env, prepared);
    const nodes = nodesOf(prepared);
    return {
      usesOldSelf: usesVariable(expr, 'oldSelf'),
      evaluate: (values) => {
        try {
          meter.charge(nodes);
          const result = run(planned, values);
          // An operator may have passed over the error that ended the evaluation.
          return meter.left < 0 ? { type: 'tooMuch' } : outcomeOf(result);
        } catch (error) {
          if (error instanceof TooMuchWork) return { type: 'tooMuch' };
          // Operators in a row are nested, and each needs a stack frame.
          if (error instanceof RangeError) return { type: 'unknown', why: 'it is nested too deep' };
          throw error;
        }
      },
    };
  } catch (error) {
    if (error instanceof NotSupported) return error.message;
    return `it cannot be parsed: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/**
 * Returns why no API server compiles an expression: it cannot be parsed, or uses a variable, a function or a field of `self`
 * that is not declared. Undefined: nothing of this is known, but types are not checked.
 */
export function faultOfExpression(
  { functions, meter }: Pick<Environment, 'functions' | 'meter'>,
  { source, variables, isOfDevices, self }: DeclaredExpression,
): CallFault | undefined {
  if (source.length > MAX_LENGTH || depthOf(source) > MAX_DEPTH) return undefined;
  let expr: Expr | undefined;
  try {
    ({ expr } = parse(readable(source)));
  } catch (error) {
    if (error instanceof RangeError || OPTIONAL_ENTRY.test(source)) return undefined;
    const why = error instanceof Error ? error.message : String(error);
    return { fault: `cannot be parsed: ${why.replace(/^<input>:(\d+):(\d+): /, 'line $1, column $2 of it: ')}` };
  }
  if (expr === undefined) return undefined;
  const known = new Set([...functions, ...declaredFunctions]);
  const unknown = unknownVariable(expr, {
    variables: declared(variables),
    functions: known,
  });
  if (unknown !== undefined) {
    const fault = `names a variable that is not declared: ${unknown}`;
    return { fault, hint: `declared are ${[...variables].sort().join(', ')}` };
  }
  try {
    const ofCalls = faultOfCalls(expr, isOfDevices === true ? deviceFunctions : NONE, meter);
    return (
      ofCalls ??
      (self === undefined ? undefined : faultOfFields(expr, new Map(['self', 'oldSelf'].map((name) => [name, self]))))
    );
  } catch (error) {
    // Many operators in a row are nested too deep for the stack; the patterns may be too large together.
    if (error instanceof RangeError || error instanceof TooMuchWork) return undefined;
    throw error;
  }
}

/** All names that an expression uses as variables, variables of its loops included; none if it cannot be parsed. */
export function namesIn(source: string): readonly string[] {
  if (source.length > MAX_LENGTH || depthOf(source) > MAX_DEPTH) return [];
  const names = new Set<string>();
  const visit = (expr: Expr): void => {
    if (expr.exprKind.case === 'identExpr') names.add(expr.exprKind.value.name);
    for (const child of childrenOf(expr)) visit(child);
  };
  try {
    const { expr } = parse(readable(source));
    if (expr !== undefined) visit(expr);
  } catch {
    // What compiles the expression says why.
  }
  return [...names];
}

/** An optional entry of a list or a mapping, which this parser cannot read. */
const OPTIONAL_ENTRY = /[[{,]\s*\?/;

const NONE: ReadonlySet<string> = new Set();

function unknownVariable(expr: Expr, scope: Parameters<typeof prepare>[1]): string | undefined {
  try {
    prepare(expr, scope);
  } catch (error) {
    if (error instanceof UnknownVariable) return error.message;
  }
  return undefined;
}

/** The source as the parser reads it, which expects a line break after a comment. */
function readable(source: string): string {
  return withoutOptionalSyntax(source.includes('//') ? `${source}\n` : source);
}

function run(planned: ReturnType<typeof plan>, values: Variables): CelResult {
  return planned(values as Parameters<typeof planned>[0]);
}

/** The deepest nesting of brackets, texts included. */
function depthOf(source: string): number {
  let depth = 0;
  let deepest = 0;
  for (const character of source) {
    if ('([{'.includes(character)) depth += 1;
    else if (')]}'.includes(character)) depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

/** Errors of this evaluator, not of CEL: it lacks an overload, or something that it should have is missing. */
const OWN_ERRORS =
  /no matching overload|no such overload|unbound function|unresolved attribute|unsupported|call stack/i;

/** The error for a variable without a value. */
export const UNRESOLVED = /unresolved attribute/i;

/** The longest explanation: it may quote a text of the object. */
const LONGEST_WHY = 300;

function outcomeOf(result: CelResult): Outcome {
  if (!isCelError(result)) return { type: 'value', value: result };
  const isOwn = OWN_ERRORS.test(result.message);
  return { type: isOwn ? 'unknown' : 'failed', why: shortened(result.message) };
}

function shortened(text: string): string {
  return text.length <= LONGEST_WHY ? text : `${text.slice(0, LONGEST_WHY)}…`;
}
