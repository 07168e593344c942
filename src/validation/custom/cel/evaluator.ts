import { type CelValue, celList } from '@bufbuild/cel';
import { didYouMean, type FieldProblem, fieldError } from '../../../manifest/problem.ts';
import { displayPath, type FieldPath } from '../../../model/text/field-path.ts';
import { type JsonObject, textOf } from '../../../model/text/json.ts';
import { type DeclaredExpression, expressionsIn } from '../../expressions.ts';
import { createMeter, TooMuchWork } from '../../values/meter.ts';
import type { CelRule, ObjectCheck, Schema } from '../../values/schema.ts';
import { createEnvironment, type Environment } from './environment.ts';
import { compileExpression, type Expression, faultOfExpression } from './expression.ts';
import { problemOfHealth } from './health-faults.ts';
import { convertObject } from './values.ts';

/** The most steps that the rules of one object may take together, and one rule for one value. */
const MAX_STEPS_OF_OBJECT = 5_000_000;
const MAX_STEPS_OF_RULE = 1_000_000;
/** The most values that one object may break rules with: each is a finding. */
const MOST_PROBLEMS = 100;
/** The longest message that a rule computes, as in an API server. */
const LONGEST_MESSAGE = 5 * 1024;

/** Evaluates the rules in CEL of custom kinds. */
export interface CelEvaluator {
  /**
   * Makes the check of the rules of a kind, for objects that are created. The check expects an object that fits the schema.
   * `kind` names it in {@link notEvaluated}.
   */
  readonly compileRules: (schema: Schema, kind: string) => ObjectCheck;
  /**
   * Checks the expressions of policies, webhooks, selectors of devices, CustomResourceDefinitions and health checks: can they be
   * parsed, and are their variables, their functions and the fields of `self`, or of the kind, declared.
   */
  readonly checkExpressions: ObjectCheck;
  /** The rules that could not be evaluated until now, as sentences: each once, in the order of discovery. */
  readonly notEvaluated: () => readonly string[];
  /** The steps of all rules since the last call: the same for the same objects, whatever was judged before. */
  readonly takeSteps: () => number;
}

/**
 * Makes an evaluator. Import this module when a definition with rules is there, not before: it loads the library.
 * Its compiled rules live as long as the checks that it makes. `definitions`: by which health checks are checked.
 */
export function createCelEvaluator(definitions: readonly JsonObject[] = []): CelEvaluator {
  const meter = createMeter();
  const environment = createEnvironment(meter);
  const notEvaluated = new Set<string>();
  const steps = createMeter();
  let taken = 0;
  const judge = (rule: CompiledRule, self: CelValue, left: number): Judgement => {
    const limit = Math.min(left, MAX_STEPS_OF_RULE);
    meter.reset(limit);
    const outcome = evaluateRule(rule, self);
    return { outcome, left: left - limit + Math.max(0, meter.left), isLimitedByObject: limit < MAX_STEPS_OF_RULE };
  };
  return {
    compileRules(schema, kind) {
      const compiled = new WeakMap<Schema, readonly CompiledRule[]>();
      return (object) => {
        const problems: FieldProblem[] = [];
        let left = MAX_STEPS_OF_OBJECT;
        let hasEnded = false;
        const visit = (at: Schema, self: CelValue, path: FieldPath): void => {
          let rules = compiled.get(at);
          if (rules === undefined) {
            rules = (at['x-kubernetes-validations'] ?? []).map((rule) => compileRule(environment, rule));
            compiled.set(at, rules);
          }
          for (const rule of rules) {
            if (hasEnded || problems.length >= MOST_PROBLEMS) return;
            const judged = judge(rule, self, left);
            const { outcome } = judged;
            ({ left } = judged);
            if (outcome.type === 'refused') problems.push(ruleProblem(rule.rule, path, outcome.message));
            if (outcome.type === 'tooMuch') {
              problems.push(costProblem(rule.rule, path, judged.isLimitedByObject));
              hasEnded = judged.isLimitedByObject || left === 0;
            }
            if (outcome.type === 'unknown') {
              notEvaluated.add(
                `${kind}: a rule of ${placeOf(path)} cannot be evaluated: ${outcome.why}: ${written(rule.rule.rule)}`,
              );
            }
          }
        };
        steps.reset(MAX_STEPS_OF_OBJECT);
        try {
          convertObject(schema, object, visit, { environment, steps });
        } catch (error) {
          if (!(error instanceof TooMuchWork)) throw error;
          problems.push(tooLarge());
        }
        taken += 2 * MAX_STEPS_OF_OBJECT - left - Math.max(0, steps.left);
        return problems;
      };
    },
    checkExpressions: (object) => {
      const expressions = expressionsIn(object);
      if (expressions.length > 0) {
        notEvaluated.add(`${textOf(object.kind)}: ${notCheckedOf(object)}`);
      }
      meter.reset(MAX_STEPS_OF_OBJECT);
      return expressions.flatMap((expression) => expressionProblem(environment, expression, definitions) ?? []);
    },
    notEvaluated: () => [...notEvaluated],
    takeSteps: () => {
      const before = taken;
      taken = 0;
      return before;
    },
  };
}

/** What of the expressions of an object is not judged. */
function notCheckedOf({ apiVersion }: JsonObject): string {
  const group = textOf(apiVersion).split('/')[0];
  if (group === 'fleetrelay.dev') return 'the types of expressions of health checks are checked in part';
  if (group === 'apiextensions.k8s.io') return 'the types and the estimated cost of rules in CEL are not checked';
  const cost = group === 'resource.k8s.io' ? ' and their estimated cost' : '';
  return `expressions in CEL are not evaluated, and their types${cost} are not checked`;
}

function expressionProblem(
  environment: Environment,
  expression: DeclaredExpression,
  definitions: readonly JsonObject[],
): FieldProblem | undefined {
  const { path, source, composed, judges } = expression;
  if (judges !== undefined) return problemOfHealth(environment, { ...expression, judges }, definitions);
  const found = faultOfExpression(environment, expression);
  if (found !== undefined) return fieldError('BadExpression', path, `${displayPath(path)} ${found.fault}`, found.hint);
  if (composed === undefined) return undefined;
  const name = variablesIn(source).find((each) => !composed.includes(each));
  if (name === undefined) return undefined;
  const message = `${displayPath(path)} uses variables.${name}, which spec.variables does not declare${path[1] === 'variables' ? ' above it' : ''}`;
  return fieldError('BadExpression', path, message, didYouMean(name, composed));
}

/** The names after `variables.` outside of texts. */
function variablesIn(source: string): readonly string[] {
  const code = source.replaceAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '""');
  return [...code.matchAll(/(?<![\w.])variables\s*\.\s*([A-Za-z_]\w*)/g)].flatMap(([, name]) => name ?? []);
}

interface CompiledRule {
  readonly rule: CelRule;
  /** Or why it cannot be evaluated. */
  readonly expression: Expression | string;
  /** Undefined: the rule has none, or none that can be evaluated. */
  readonly message: Expression | undefined;
}

function compileRule(environment: Environment, rule: CelRule): CompiledRule {
  const variables = new Map([
    ['self', false],
    ['oldSelf', rule.optionalOldSelf === true],
  ]);
  const { messageExpression } = rule;
  const message =
    messageExpression === undefined ? undefined : compileExpression(environment, messageExpression, variables);
  return {
    rule,
    expression: compileExpression(environment, rule.rule, variables),
    message: typeof message === 'string' ? undefined : message,
  };
}

type RuleOutcome =
  | { readonly type: 'kept' }
  | { readonly type: 'refused'; readonly message: string }
  | { readonly type: 'unknown'; readonly why: string }
  | { readonly type: 'tooMuch' };

interface Judgement {
  readonly outcome: RuleOutcome;
  /** The steps that are left for the object. */
  readonly left: number;
  /** The rule had no more steps than were left for the object. */
  readonly isLimitedByObject: boolean;
}

/** Evaluates a rule with the steps that its meter has; they are for its message, too. */
function evaluateRule({ rule, expression, message }: CompiledRule, self: CelValue): RuleOutcome {
  if (typeof expression === 'string') return { type: 'unknown', why: expression };
  // A rule about a change says nothing of an object that is created.
  if (expression.usesOldSelf && rule.optionalOldSelf !== true) return { type: 'kept' };
  const variables = { self, oldSelf: celList([]) };
  const outcome = expression.evaluate(variables);
  switch (outcome.type) {
    case 'unknown':
    case 'tooMuch':
      return outcome;
    case 'failed':
      return { type: 'refused', message: `${messageOf(rule)} (${outcome.why})` };
    case 'value':
      if (outcome.value === true) return { type: 'kept' };
      if (outcome.value !== false) return { type: 'unknown', why: 'its value is neither true nor false' };
  }
  const text = message?.evaluate(variables);
  const isMessage = text?.type === 'value' && typeof text.value === 'string' && text.value.length <= LONGEST_MESSAGE;
  const said = isMessage && !String(text.value).includes('\n') ? String(text.value).trim() : '';
  return { type: 'refused', message: said === '' ? messageOf(rule) : said };
}

function messageOf({ message = '', rule }: CelRule): string {
  return message.trim() === '' ? `the rule \`${written(rule)}\` is false` : message.trim();
}

function ruleProblem(rule: CelRule, path: FieldPath, message: string): FieldProblem {
  const at = [...path, ...fieldPathOf(rule.fieldPath ?? '')];
  return fieldError('BrokenRule', at, `${placeOf(at)} breaks a rule of its definition: ${message}`);
}

/** The object must not pass unjudged. */
function costProblem({ rule, at }: CelRule, path: FieldPath, isOfObject: boolean): FieldProblem {
  const where = at === undefined ? 'of its definition' : `at ${at}`;
  const limit = isOfObject
    ? `the rules for the object take more than ${MAX_STEPS_OF_OBJECT} steps together`
    : `it takes more than ${MAX_STEPS_OF_RULE} steps`;
  const message = `${placeOf(path)} is not judged by the rule ${where}: ${limit}: ${written(rule)}`;
  return fieldError('RuleTooExpensive', path, message, HINT_ON_COST);
}

function tooLarge(): FieldProblem {
  const message = `the object is not judged by the rules of its definition: to read it takes more than ${MAX_STEPS_OF_OBJECT} steps`;
  return fieldError('RuleTooExpensive', [], message, HINT_ON_COST);
}

const HINT_ON_COST = 'API servers have such a limit, too: limit lengths in the schema, and avoid loops in loops';
const LONGEST_RULE = 200;

/** The rule in one line. */
function written(rule: string): string {
  const line = rule.trim().replaceAll(/\s+/g, ' ');
  return line.length <= LONGEST_RULE ? line : `${line.slice(0, LONGEST_RULE)}…`;
}

function placeOf(path: FieldPath): string {
  return path.length === 0 ? 'the object' : displayPath(path);
}

/** The steps of `.spec.names['a.b']`. */
function fieldPathOf(text: string): FieldPath {
  return [...text.matchAll(/\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]/g)].map(
    ([, name, quoted = '']) => name ?? quoted.replaceAll(/\\(.)/g, '$1'),
  );
}
