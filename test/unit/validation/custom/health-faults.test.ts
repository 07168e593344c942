import { expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/model/text/json.ts';
import { createCelEvaluator } from '../../../../src/validation/custom/cel/evaluator.ts';

const database: JsonObject = {
  ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'a' } },
  spec: {
    group: 'example.com',
    names: { kind: 'Database' },
    versions: [
      {
        name: 'v1',
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              metadata: { type: 'object' },
              settings: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              status: {
                type: 'object',
                properties: {
                  phase: { type: 'string' },
                  ready: { type: 'boolean' },
                  nodes: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
                },
              },
            },
          },
        },
      },
    ],
  },
};
const { checkExpressions } = createCelEvaluator([database]);

function problemsOf(check: JsonObject): readonly string[] {
  const policy = {
    ...{ apiVersion: 'fleetrelay.dev/v1alpha1', kind: 'FleetPolicy', metadata: { name: 'fleet' } },
    spec: { healthChecks: [check] },
  };
  return checkExpressions(policy).map(
    ({ path, message, hint }) => `${path.slice(2).join('.')}: ${message}${hint === undefined ? '' : ` (${hint})`}`,
  );
}
const ofDatabase = (current: string) => problemsOf({ apiVersion: 'example.com/v1', kind: 'Database', current });

test.each([
  "status.phase == 'Running'",
  'status.ready',
  "has(status.nodes) && status.nodes.all(n, n.name != '')",
  "status.?phase.orValue('') == 'Running'",
  "metadata.labels['a'] == 'b' && metadata.generation == 3 && kind == 'Database'",
  'settings.anything.at.all == 1',
  'true',
])('no fault: %s', (expression) => expect(ofDatabase(expression)).toEqual([]));

test.each([
  ['status.fase == 1', 'reads the field fase, which the schema does not have there'],
  [
    "status.nodes.exists(n, n.nam == 'a')",
    'reads the field nam, which the schema does not have there (did you mean name?)',
  ],
  ['state.phase == 1', 'reads state, a field that the kind does not have (did you mean status?)'],
  ['spec.replicas == 1', 'reads spec, a field that the kind does not have'],
  ['status.phase ==', 'cannot be evaluated: it cannot be parsed: line 1, column 14 of it'],
  ['status.phase.shout()', 'cannot be evaluated: the function shout is unknown'],
  ['status.phase', 'has a value that is neither true nor false'],
  ["'yes'", 'has a value that is neither true nor false'],
  ['size(status.nodes)', 'has a value that is neither true nor false'],
])('a fault: %s', (expression, fault) => {
  expect(ofDatabase(expression)).toEqual([expect.stringContaining(`0.current: spec.healthChecks[0].current ${fault}`)]);
});

test('a version that the definition does not have', () => {
  expect(problemsOf({ apiVersion: 'example.com/v2', kind: 'Database', current: 'true' })).toEqual([
    '0.apiVersion: spec.healthChecks[0].apiVersion is example.com/v2, and the definition of Database has example.com/v1 (did you mean example.com/v1?)',
  ]);
});

test('without a definition the fields are not checked, and all else is', () => {
  const of = (current: string) => problemsOf({ apiVersion: 'other.com/v1', kind: 'Thing', current });
  expect(of("anything.goes == 'x'")).toEqual([]);
  expect(of('anything.goes ==')).toHaveLength(1);
  expect(of('size(anything.goes)')).toHaveLength(1);
});
