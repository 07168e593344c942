import { type CelValue, celList, celMap } from '@bufbuild/cel';
import {
  HEALTH_EXPRESSIONS,
  type HealthCheck,
  type HealthEvaluator,
  kindOfCheck,
} from '../../../model/health-check.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf } from '../../../model/json.ts';
import {
  conditionOf,
  failed,
  inProgress,
  isStale,
  messageOf,
  type ObjectHealth,
  unknown,
} from '../../../model/object-health/health.ts';
import { withoutSecretValues } from '../../../model/secret-values.ts';
import { createMeter, type Meter, TooMuchWork } from '../../values/meter.ts';
import { createEnvironment } from './environment.ts';
import { compileExpression, type Expression, namesIn, type Outcome, UNRESOLVED } from './expression.ts';
import { createMembers } from './functions/members.ts';

/** The most steps that one expression may take for one object, and the conversion of the object. */
const MAX_STEPS = 1_000_000;

/** Makes an evaluator. Import this module when there are checks, not before: it loads the library for CEL. */
export function createHealthEvaluator(checks: readonly HealthCheck[]): HealthEvaluator {
  const meter = createMeter();
  const environment = createEnvironment(meter);
  const compiled = new Map(checks.map((check) => [kindOfCheck(check), compile(check)]));
  return {
    judge(kind, object) {
      const check = compiled.get(kind);
      return check === undefined ? undefined : judge(check, withoutSecretValues(object), meter);
    },
  };

  function compile(check: HealthCheck): readonly Compiled[] {
    return HEALTH_EXPRESSIONS.flatMap((name) => {
      const source = check[name];
      if (source === undefined) return [];
      const names = namesIn(source);
      const variables = new Map(names.map((each) => [each, false] as const));
      return [{ name, names, expression: compileExpression(environment, source, variables) }];
    });
  }
}

interface Compiled {
  readonly name: (typeof HEALTH_EXPRESSIONS)[number];
  /** All names that it uses. */
  readonly names: readonly string[];
  /** Or why it cannot be evaluated. */
  readonly expression: Expression | string;
}

function judge(check: readonly Compiled[], object: JsonObject, meter: Meter): ObjectHealth {
  const [metadata, status] = [objectOf(object.metadata), objectOf(object.status)];
  if (isStale(status, metadata)) {
    return inProgress(
      `generation ${metadata.generation} is not taken up yet; its status is of ${status.observedGeneration}`,
    );
  }
  const ready = conditionOf(status, 'Ready');
  const said = (name: string): string =>
    ready === undefined ? `the expression ${name} of its health check is true` : messageOf(ready);
  for (const { name, names, expression } of check) {
    const outcome = evaluate(names, expression, object, meter);
    if (typeof outcome === 'string')
      return unknown(`the expression ${name} of its health check cannot be evaluated: ${outcome}`);
    if (typeof outcome === 'object') {
      return inProgress(`what the expression ${name} of its health check reads is not there yet: ${outcome.lacks}`);
    }
    if (!outcome) continue;
    if (name === 'current') return { state: 'current', message: '' };
    return name === 'failed' ? failed(said(name)) : inProgress(said(name));
  }
  return inProgress(ready === undefined ? 'no expression of its health check is true' : messageOf(ready));
}

/** A text says why it cannot be evaluated. */
function evaluate(
  names: readonly string[],
  expression: Expression | string,
  object: JsonObject,
  meter: Meter,
): boolean | string | { readonly lacks: string } {
  if (typeof expression === 'string') return expression;
  try {
    meter.reset(MAX_STEPS);
    const present = names.flatMap((name) => {
      const value = Object.hasOwn(object, name) ? object[name] : undefined;
      return value === undefined ? [] : [[name, celOf(value, meter)] as const];
    });
    meter.reset(MAX_STEPS);
    return meaningOf(expression.evaluate(Object.fromEntries(present)));
  } catch (error) {
    if (error instanceof TooMuchWork) return TOO_MUCH;
    // The object is nested too deep for the stack.
    if (error instanceof RangeError) return 'the object is nested too deep';
    throw error;
  }
}

const TOO_MUCH = `it takes more than ${MAX_STEPS} steps`;

function meaningOf(outcome: Outcome): boolean | string | { readonly lacks: string } {
  switch (outcome.type) {
    case 'value':
      return typeof outcome.value === 'boolean' ? outcome.value : 'its value is neither true nor false';
    case 'failed':
      return { lacks: outcome.why };
    case 'tooMuch':
      return TOO_MUCH;
    case 'unknown':
      return UNRESOLVED.test(outcome.why) ? { lacks: outcome.why } : outcome.why;
  }
}

/** A value without a schema: numbers without a fraction are integers, as in Kubernetes. */
function celOf(value: JsonValue, meter: Meter): CelValue {
  meter.charge(1);
  if (Array.isArray(value)) return celList((value as readonly JsonValue[]).map((item) => celOf(item, meter)));
  if (isJsonObject(value)) {
    const members = createMembers(meter);
    for (const [name, member] of Object.entries(value)) {
      if (member !== undefined) members.set(name, celOf(member, meter));
    }
    return celMap(members);
  }
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : (value as CelValue);
}
