import { type CelValue, celList } from '@bufbuild/cel';
import { didYouMean, type FieldProblem, fieldError } from '../../../manifest/problem.ts';
import { displayPath, type FieldPath } from '../../../model/field-path.ts';
import { type JsonObject, textOf } from '../../../model/json.ts';
import { type DeclaredExpression, expressionsIn } from '../../expressions.ts';
import { createMeter, type Meter } from '../../values/meter.ts';
import type { CelRule, ObjectCheck, Schema } from '../../values/schema.ts';
import { createEnvironment, type Environment } from './environment.ts';
import { compileExpression, type Expression, faultOfExpression } from './expression.ts';
import { convertObject } from './values.ts';

/** The most nodes that the rules of one object may evaluate together, and one rule for one value. */
const MAX_NODES_OF_OBJECT = 5_000_000;
const MAX_NODES_OF_RULE = 1_000_000;

/** Evaluates the rules in CEL of custom kinds. */
export interface CelEvaluator {
  /**
   * Makes the check of the rules of a kind, for objects that are created. The check expects an object that fits the schema.
   * `kind` names it in {@link notEvaluated}.
   */
  readonly compileRules: (schema: Schema, kind: string) => ObjectCheck;
  /**
   * Checks the expressions of policies, webhooks, selectors of devices and CustomResourceDefinitions: can they be parsed, and
   * are their variables, their functions and the fields of `self` declared.
   */
  readonly checkExpressions: ObjectCheck;
  /** The rules that could not be evaluated until now, as sentences, in the order in which they were found; each once. */
  readonly notEvaluated: () => readonly string[];
}

/**
 * Makes an evaluator. Import this module when a definition with rules is there, not before: it loads the library.
 * Its compiled rules live as long as the checks that it makes.
 */
export function createCelEvaluator(): CelEvaluator {
  const meter = createMeter();
  const environment = createEnvironment(meter);
  const notEvaluated = new Set<string>();
  return {
    compileRules(schema, kind) {
      const compiled = new WeakMap<Schema, readonly CompiledRule[]>();
      return (object) => {
        const problems: FieldProblem[] = [];
        let left = MAX_NODES_OF_OBJECT;
        const visit = (at: Schema, self: CelValue, path: FieldPath): void => {
          let rules = compiled.get(at);
          if (rules === undefined) {
            rules = (at['x-kubernetes-validations'] ?? []).map((rule) => compileRule(environment, rule));
            compiled.set(at, rules);
          }
          for (const rule of rules) {
            const limit = Math.min(left, MAX_NODES_OF_RULE);
            const found = evaluateRule(rule, self, meter, limit);
            left -= limit - Math.max(0, meter.left);
            if (found.type === 'refused') problems.push(ruleProblem(rule.rule, path, found.message));
            if (found.type === 'unknown') {
              notEvaluated.add(
                `${kind}: a rule of ${placeOf(path)} cannot be evaluated: ${found.why}: ${rule.rule.rule}`,
              );
            }
          }
        };
        convertObject(schema, object, visit, environment);
        return problems;
      };
    },
    checkExpressions: (object) => {
      const expressions = expressionsIn(object);
      if (expressions.length > 0) {
        notEvaluated.add(`${textOf(object.kind)}: ${notCheckedOf(object)}`);
      }
      return expressions.flatMap((expression) => expressionProblem(environment, expression) ?? []);
    },
    notEvaluated: () => [...notEvaluated],
  };
}

/** What of the expressions of an object is not judged. */
function notCheckedOf({ apiVersion }: JsonObject): string {
  const group = textOf(apiVersion).split('/')[0];
  if (group === 'apiextensions.k8s.io') return 'the types and the estimated cost of rules in CEL are not checked';
  const cost = group === 'resource.k8s.io' ? ' and their estimated cost' : '';
  return `expressions in CEL are not evaluated, and their types${cost} are not checked`;
}

function expressionProblem(environment: Environment, expression: DeclaredExpression): FieldProblem | undefined {
  const { path, source, composed } = expression;
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
  const isOptional = rule.optionalOldSelf === true;
  const { messageExpression } = rule;
  const message =
    messageExpression === undefined ? undefined : compileExpression(environment, messageExpression, isOptional);
  return {
    rule,
    expression: compileExpression(environment, rule.rule, isOptional),
    message: typeof message === 'string' ? undefined : message,
  };
}

type RuleOutcome =
  | { readonly type: 'kept' }
  | { readonly type: 'refused'; readonly message: string }
  | { readonly type: 'unknown'; readonly why: string };

function evaluateRule(
  { rule, expression, message }: CompiledRule,
  self: CelValue,
  meter: Meter,
  limit: number,
): RuleOutcome {
  meter.reset(limit);
  if (typeof expression === 'string') return { type: 'unknown', why: expression };
  // A rule about a change says nothing of an object that is created.
  if (expression.usesOldSelf && rule.optionalOldSelf !== true) return { type: 'kept' };
  const variables = { self, oldSelf: celList([]) };
  const outcome = expression.evaluate(variables);
  if (meter.left < 0) return { type: 'unknown', why: 'it needs too many steps' };
  switch (outcome.type) {
    case 'unknown':
      return outcome;
    case 'failed':
      return { type: 'refused', message: `${messageOf(rule)} (${outcome.why})` };
    case 'value':
      if (outcome.value === true) return { type: 'kept' };
      if (outcome.value !== false) return { type: 'unknown', why: 'its value is neither true nor false' };
  }
  meter.reset(limit);
  const text = message?.evaluate(variables);
  const said =
    text?.type === 'value' && typeof text.value === 'string' && !text.value.includes('\n') ? text.value.trim() : '';
  return { type: 'refused', message: said === '' ? messageOf(rule) : said };
}

function messageOf({ message = '', rule }: CelRule): string {
  return message.trim() === '' ? `the rule \`${rule.trim().replaceAll(/\s+/g, ' ')}\` is false` : message.trim();
}

function ruleProblem(rule: CelRule, path: FieldPath, message: string): FieldProblem {
  const at = [...path, ...fieldPathOf(rule.fieldPath ?? '')];
  return fieldError('BrokenRule', at, `${placeOf(at)} breaks a rule of its definition: ${message}`);
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
