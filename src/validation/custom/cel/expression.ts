import { type CelResult, type CelValue, isCelError, parse, plan } from '@bufbuild/cel';
import { TooMuchWork } from '../../values/meter.ts';
import type { Environment } from './environment.ts';
import { withoutOptionalSyntax } from './optional-syntax.ts';
import { NotSupported, prepare, usesVariable } from './rewrite.ts';

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
    const { expr } = parse(withoutOptionalSyntax(source));
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
