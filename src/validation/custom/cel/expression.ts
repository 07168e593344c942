import { type CelResult, type CelValue, isCelError, parse, plan } from '@bufbuild/cel';
import { TooMuchWork } from '../../values/meter.ts';
import type { Environment } from './environment.ts';
import { withoutOptionalSyntax } from './optional-syntax.ts';
import { NotSupported, prepare, UnknownVariable, usesVariable } from './rewrite.ts';

/** The longest expression that is read, in characters, and the deepest. */
const MAX_LENGTH = 20_000;
const MAX_DEPTH = 100;

/** The variables of an evaluation. */
export type Variables = Readonly<Record<string, CelValue>>;

/** A compiled expression. */
export interface Expression {
  /** Whether it compares with the state before an update. */
  readonly usesOldSelf: boolean;
  evaluate(variables: Variables): Outcome;
}

/**
 * The result of an evaluation. `failed`: CEL itself defines it as an error, so an API server refuses the object. `unknown`:
 * this evaluator cannot say, and `why` completes "cannot be evaluated: ".
 */
export type Outcome =
  | { readonly type: 'value'; readonly value: CelValue }
  | { readonly type: 'failed'; readonly why: string }
  | { readonly type: 'unknown'; readonly why: string };

/**
 * Compiles an expression of a rule. Returns a text that completes "cannot be evaluated: " if the evaluator cannot evaluate it.
 *
 * @param optionalOldSelf `oldSelf` is an optional value
 */
export function compileExpression(
  { env, functions }: Environment,
  source: string,
  optionalOldSelf: boolean,
): Expression | string {
  try {
    if (source.length > MAX_LENGTH) return `it has more than ${MAX_LENGTH} characters`;
    if (depthOf(source) > MAX_DEPTH) return `its brackets are nested deeper than ${MAX_DEPTH}`;
    const { expr } = parse(readable(source));
    if (expr === undefined) return 'it is empty';
    const variables = new Map([
      ['self', false],
      ['oldSelf', optionalOldSelf],
    ]);
    const planned = plan(env, prepare(expr, { variables, functions }));
    return {
      usesOldSelf: usesVariable(expr, 'oldSelf'),
      evaluate: (values) => outcomeOf(run(planned, values)),
    };
  } catch (error) {
    if (error instanceof NotSupported) return error.message;
    return `it cannot be parsed: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/**
 * Returns why no API server compiles an expression: it cannot be parsed, or uses a variable that is not declared. Undefined:
 * neither is known, but its types and functions are not checked.
 */
export function faultOfExpression(
  { functions }: Pick<Environment, 'functions'>,
  source: string,
  declared: readonly string[],
): string | undefined {
  // The parser does not know names in backticks, which an API server does.
  if (source.length > MAX_LENGTH || depthOf(source) > MAX_DEPTH || source.includes('`')) return undefined;
  let expr: ReturnType<typeof parse>['expr'];
  try {
    ({ expr } = parse(readable(source)));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    const why = error instanceof Error ? error.message : String(error);
    return `cannot be parsed: ${why.replace(/^<input>:(\d+):(\d+): /, 'line $1, column $2 of it: ')}`;
  }
  if (expr === undefined) return undefined;
  try {
    prepare(expr, { variables: new Map(declared.map((name) => [name, false])), functions });
  } catch (error) {
    if (error instanceof UnknownVariable) return `names a variable that is not declared: ${error.message}`;
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

function outcomeOf(result: CelResult): Outcome {
  if (!isCelError(result)) return { type: 'value', value: result };
  const isOwn = OWN_ERRORS.test(result.message) || result.cause instanceof TooMuchWork;
  return { type: isOwn ? 'unknown' : 'failed', why: result.message };
}
