import {
  type CelResult,
  type CelValue,
  celEnv,
  isCelError,
  isCelList,
  isCelMap,
  isCelUint,
  parse,
  plan,
} from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { tests as suite } from '@bufbuild/cel-spec/testdata/conformance.js';
import type { SerializedIncrementalTestSuite } from '@bufbuild/cel-spec/testdata/tests.js';
import { toJson } from '@bufbuild/protobuf';
import { isReflectMessage } from '@bufbuild/protobuf/reflect';
import { describe, expect, it } from 'vitest';
import { createEnvironment } from '../../../../src/validation/custom/cel/environment.ts';
import { compileExpression, type Outcome } from '../../../../src/validation/custom/cel/expression.ts';
import { createMeter } from '../../../../src/validation/values/meter.ts';

/** The parts of the suite whose functions this evaluator has of its own, or meters. */
const PARTS = [
  'basic',
  'comparisons',
  'conversions',
  'fp_math',
  'integer_math',
  'lists',
  'logic',
  'macros',
  'string',
  'string_ext',
  'timestamps',
  'plumbing',
  'parse',
];

interface Case {
  readonly name: string;
  readonly expression: string;
}

/** The cases without variables, types and names of their own. */
function casesOf({ tests = [], suites = [] }: SerializedIncrementalTestSuite, path: string): readonly Case[] {
  const own = tests.flatMap(({ original }): readonly Case[] => {
    const { name = '', expr } = original;
    const isPlain = ['container', 'typeEnv', 'bindings', 'disableMacros'].every(
      (member) => original[member] === undefined,
    );
    return isPlain ? [{ name: `${path}/${name}`, expression: expr }] : [];
  });
  return [...own, ...suites.flatMap((each) => casesOf(each, `${path}/${each.name}`))];
}

const CASES = (suite.suites ?? [])
  .filter(({ name }) => PARTS.includes(name))
  .flatMap((each) => casesOf(each, each.name));

function byLibrary(expression: string): CelResult | undefined {
  try {
    const { expr } = parse(expression);
    return expr === undefined ? undefined : plan(celEnv({ funcs: [...strings] }), expr)({});
  } catch {
    return undefined;
  }
}

function byEvaluator(expression: string): Outcome | string {
  const meter = createMeter();
  const compiled = compileExpression(createEnvironment(meter), expression, new Map());
  meter.reset(1_000_000);
  return typeof compiled === 'string' ? compiled : compiled.evaluate({});
}

/** A value in a form that can be compared. */
function plain(value: CelValue): unknown {
  if (isCelList(value)) return Array.from(value, plain);
  if (isCelMap(value)) return Array.from(value, ([key, member]) => [plain(key), plain(member)]);
  if (isCelUint(value)) return `${value.value}u`;
  if (isReflectMessage(value)) return toJson(value.desc, value.message);
  return typeof value === 'object' && value !== null && 'kind' in value ? `type ${value.name}` : value;
}

describe('the conformance suite of CEL', () => {
  // Rules of Kubernetes create no messages, and an unknown function is found before an evaluation.
  const evaluated = CASES.filter(({ expression }) => typeof byEvaluator(expression) === 'object');

  it('has cases for the functions that are metered', () => {
    expect(CASES.length).toBeGreaterThan(500);
    expect(evaluated.length).toBeGreaterThan(450);
  });

  it.each(evaluated)('$name: $expression', ({ expression }) => {
    const expected = byLibrary(expression);
    const found = byEvaluator(expression);
    if (expected === undefined || isCelError(expected)) expect(found).not.toMatchObject({ type: 'value' });
    else
      expect(typeof found === 'object' && found.type === 'value' ? plain(found.value) : found).toEqual(plain(expected));
  });
});
