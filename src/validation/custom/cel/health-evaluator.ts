import { type CelValue, celList, celMap } from '@bufbuild/cel';
import {
  HEALTH_EXPRESSIONS,
  type HealthCheck,
  type HealthEvaluator,
  kindOfCheck,
} from '../../../model/objects/health-check.ts';
import { staleHealth } from '../../../model/objects/object-health/general.ts';
import {
  CURRENT,
  conditionOf,
  failed,
  inProgress,
  messageOf,
  type ObjectHealth,
  unknown,
} from '../../../model/objects/object-health/health.ts';
import { withoutSecretValues } from '../../../model/objects/secret-values.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf } from '../../../model/text/json.ts';
import { createMeter, type Meter, TooMuchWork } from '../../values/meter.ts';
import { createEnvironment } from './environment.ts';
import {
  compileExpression,
  declared,
  type Expression,
  namesIn,
  type Outcome,
  UNRESOLVED,
  type Variables,
} from './expression.ts';
import { createMembers } from './functions/members.ts';

/** The most steps that one expression may take for one object, and the most for reading the object. */
const MAX_STEPS = 100_000;
const MAX_STEPS_OF_OBJECT = 1_000_000;

/** Makes an evaluator. Import this module when there are checks, not before: it loads the library for CEL. */
export function createHealthEvaluator(checks: readonly HealthCheck[]): HealthEvaluator {
  const meter = createMeter();
  const environment = createEnvironment(meter);
  const compiled = new Map(checks.map((check) => [kindOfCheck(check), compile(check)]));
  return {
    judge(kind, object) {
      const check = compiled.get(kind);
      if (check === undefined) return undefined;
      const stale = staleHealth(objectOf(object.metadata), objectOf(object.status));
      if (stale !== undefined) return { health: stale, steps: 0 };
      return judgeHealth(check, withoutSecretValues(object), meter);
    },
  };

  function compile(check: HealthCheck): Compiled {
    const expressions = HEALTH_EXPRESSIONS.flatMap((name) => {
      const source = check[name];
      if (source === undefined) return [];
      const names = namesIn(source);
      return [{ name, names, expression: compileExpression(environment, source, declared(names)) }];
    });
    return { expressions, names: [...new Set(expressions.flatMap(({ names }) => names))] };
  }
}

interface Compiled {
  readonly expressions: readonly {
    readonly name: (typeof HEALTH_EXPRESSIONS)[number];
    /** Or why it cannot be evaluated. */
    readonly expression: Expression | string;
  }[];
  /** All names that they use. */
  readonly names: readonly string[];
}

function judgeHealth(
  { expressions, names }: Compiled,
  object: JsonObject,
  meter: Meter,
): { readonly health: ObjectHealth; readonly steps: number } {
  const { variables, steps: read } = variablesOf(names, object, meter);
  if (typeof variables === 'string') {
    return { health: unknown(`the object cannot be read by its health check: ${variables}`), steps: read };
  }
  const ready = conditionOf(objectOf(object.status), 'Ready');
  let steps = read;
  for (const { name, expression } of expressions) {
    const outcome = evaluate(expression, variables, meter);
    steps += outcome.steps;
    const health = healthOf(name, outcome, ready);
    if (health !== undefined) return { health, steps };
  }
  return { health: inProgress(ready === undefined ? 'healthChecks.current is false' : messageOf(ready)), steps };
}

/** Undefined: the expression is false. */
function healthOf(
  name: (typeof HEALTH_EXPRESSIONS)[number],
  { meaning }: Evaluated,
  ready: JsonObject | undefined,
): ObjectHealth | undefined {
  if (typeof meaning === 'string') return unknown(`healthChecks.${name} cannot be evaluated: ${meaning}`);
  if (typeof meaning === 'object') return inProgress(`healthChecks.${name} cannot be evaluated yet: ${meaning.lacks}`);
  if (!meaning) return undefined;
  if (name === 'current') return CURRENT;
  const said = ready === undefined ? `healthChecks.${name} is true` : messageOf(ready);
  return name === 'failed' ? failed(said) : inProgress(said);
}

/** The fields of an object as values of CEL, read once for all expressions; a text says why they cannot be read. */
function variablesOf(names: readonly string[], object: JsonObject, meter: Meter) {
  meter.reset(MAX_STEPS_OF_OBJECT);
  try {
    const present = names.flatMap((name) => {
      const value = Object.hasOwn(object, name) ? object[name] : undefined;
      return value === undefined ? [] : [[name, celOf(value, meter)] as const];
    });
    return { variables: Object.fromEntries(present), steps: MAX_STEPS_OF_OBJECT - meter.left };
  } catch (error) {
    if (error instanceof TooMuchWork) return { variables: tooMuch(MAX_STEPS_OF_OBJECT), steps: MAX_STEPS_OF_OBJECT };
    // The object is nested too deep for the stack.
    if (error instanceof RangeError) return { variables: 'it is nested too deep', steps: MAX_STEPS_OF_OBJECT };
    throw error;
  }
}

interface Evaluated {
  /** A text says why it cannot be evaluated; `lacks` what the object does not have yet. */
  readonly meaning: boolean | string | { readonly lacks: string };
  readonly steps: number;
}

function evaluate(expression: Expression | string, variables: Variables, meter: Meter): Evaluated {
  if (typeof expression === 'string') return { meaning: expression, steps: 0 };
  meter.reset(MAX_STEPS);
  const meaning = meaningOf(expression.evaluate(variables));
  return { meaning, steps: MAX_STEPS - Math.max(0, meter.left) };
}

function tooMuch(steps: number): string {
  return `it takes more than ${steps} steps`;
}

function meaningOf(outcome: Outcome): Evaluated['meaning'] {
  switch (outcome.type) {
    case 'value':
      return typeof outcome.value === 'boolean' ? outcome.value : 'its value is neither true nor false';
    case 'failed':
      return { lacks: outcome.why };
    case 'tooMuch':
      return tooMuch(MAX_STEPS);
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
