import { type FieldProblem, fieldError } from '../../manifest/problem.ts';
import { displayPath } from '../../model/text/field-path.ts';
import { isJsonObject, type JsonValue } from '../../model/text/json.ts';
import { type Branches, type Node, type Slot, schemaPathOf } from './compile-schema.ts';
import { PatternTooLarge } from './metered-patterns.ts';
import { quoted, type Run, report } from './value-problems.ts';

/** Checks a value against a schema and adds its problems to the run. */
export type Visit = (slot: Slot, value: JsonValue, run: Run) => void;

/** Checks the rules about values that only schemas of custom kinds have; the value has the right type. */
export function checkValueRules(node: Node, value: JsonValue, run: Run, visit: Visit): void {
  if (typeof value === 'string') checkText(node, value, run);
  else if (typeof value === 'number') checkNumber(node, value, run);
  else if (Array.isArray(value)) checkSize(run, 'items', value.length, node.schema.minItems, node.schema.maxItems);
  else if (isJsonObject(value)) {
    const { minProperties, maxProperties } = node.schema;
    run.meter.charge(minProperties === undefined && maxProperties === undefined ? 0 : Object.keys(value).length);
    checkSize(run, 'fields', Object.keys(value).length, minProperties, maxProperties);
  }
  if (node.branches !== undefined) checkBranches(node.branches, value, run, visit);
}

/** How many characters a step looks at. */
export const STEP_OF_TEXT = 32;

function checkText({ schema, slot }: Node, value: string, run: Run): void {
  const { minLength, maxLength, pattern } = schema;
  if (minLength !== undefined || maxLength !== undefined) {
    run.meter.charge(value.length / STEP_OF_TEXT);
    // Characters count, not UTF-16 code units.
    checkSize(run, 'characters', [...value].length, minLength, maxLength);
  }
  if (pattern === undefined) return;
  const matcher = matcherAt(slot, pattern, run);
  if (matcher !== undefined) run.meter.charge(matcher.steps(value));
  if (matcher?.matches(value) === false) report(run, 'WrongValue', `does not have the form ${pattern}`);
}

/** Ends the check of an object whose schema has a pattern that is too large: the object must not pass unjudged. */
export class UnusablePattern extends Error {
  readonly problem: FieldProblem;
  constructor(problem: FieldProblem) {
    super(problem.message);
    this.problem = problem;
  }
}

function matcherAt(slot: Slot, pattern: string, run: Run): ReturnType<Run['matcherOf']> {
  try {
    return run.matcherOf(pattern);
  } catch (error) {
    if (!(error instanceof PatternTooLarge)) throw error;
    const place = displayPath([...schemaPathOf(slot), 'pattern']);
    const message = `the schema of the kind cannot be used at ${place}: ${error.message}`;
    const hint = 'write a pattern with fewer repetitions, or limit the length by maxLength';
    throw new UnusablePattern(fieldError('SchemaUnreadable', [...run.path], message, hint));
  }
}

function checkNumber({ schema }: Node, value: number, run: Run): void {
  const { minimum, maximum, exclusiveMinimum = false, exclusiveMaximum = false, multipleOf } = schema;
  if (minimum !== undefined && (value < minimum || (exclusiveMinimum && value === minimum))) {
    report(run, 'WrongValue', `must be ${exclusiveMinimum ? 'more than' : 'at least'} ${minimum}${quoted(run, value)}`);
  }
  if (maximum !== undefined && (value > maximum || (exclusiveMaximum && value === maximum))) {
    report(run, 'WrongValue', `must be ${exclusiveMaximum ? 'less than' : 'at most'} ${maximum}${quoted(run, value)}`);
  }
  if (multipleOf !== undefined && multipleOf > 0 && !Number.isInteger(roundedQuotient(value, multipleOf))) {
    report(run, 'WrongValue', `must be a multiple of ${multipleOf}${quoted(run, value)}`);
  }
}

/** 0.3 / 0.1 is not a whole number in binary. */
function roundedQuotient(value: number, step: number): number {
  const quotient = value / step;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9 ? Math.round(quotient) : quotient;
}

function checkSize(run: Run, unit: string, size: number, least: number | undefined, most: number | undefined): void {
  if (least !== undefined && size < least) {
    report(
      run,
      'WrongValue',
      least === 1 ? 'must not be empty' : `must have at least ${least} ${unit}${quoted(run, size)}`,
    );
  }
  if (most !== undefined && size > most)
    report(run, 'WrongValue', `must have at most ${most} ${unit}${quoted(run, size)}`);
}

function checkBranches({ allOf, anyOf, oneOf, not }: Branches, value: JsonValue, run: Run, visit: Visit): void {
  for (const branch of allOf) visit(branch, value, run);
  if (anyOf.length > 0) checkAlternatives(anyOf, value, run, visit, false);
  if (oneOf.length > 0) checkAlternatives(oneOf, value, run, visit, true);
  if (not !== undefined && problemsOf(not, value, run, visit).length === 0) {
    const { required = [] } = not.schema;
    if (required.length > 0) report(run, 'WrongChoice', `must not have ${required.join(' and ')} together`);
    else report(run, 'WrongValue', 'has a value that its schema excludes');
  }
}

function problemsOf(branch: Slot, value: JsonValue, run: Run, visit: Visit): Run['problems'] {
  const inner: Run = { ...run, problems: [] };
  visit(branch, value, inner);
  return inner.problems;
}

function checkAlternatives(
  branches: readonly Slot[],
  value: JsonValue,
  run: Run,
  visit: Visit,
  exactlyOne: boolean,
): void {
  let fitting = 0;
  let nearest: Run['problems'] = [];
  for (const branch of branches) {
    const problems = problemsOf(branch, value, run, visit);
    if (problems.length === 0) {
      if (!exactlyOne) return;
      fitting += 1;
    } else if (nearest.length === 0 || problems.length < nearest.length) nearest = problems;
  }
  if (fitting === 1) return;
  const fields = [...new Set(branches.flatMap(({ schema }) => schema.required ?? []))];
  const amount = exactlyOne ? 'exactly' : 'at least';
  if (branches.every(({ schema }) => (schema.required ?? []).length > 0)) {
    report(run, 'WrongChoice', `needs ${amount} one of ${fields.join(', ')}`);
  } else if (fitting > 1) {
    report(run, 'WrongChoice', `fits ${fitting} of the alternatives of its schema and must fit exactly one`);
  } else {
    const [first] = nearest;
    report(run, 'WrongChoice', `fits none of the ${branches.length} alternatives of its schema`, first?.message);
  }
}
