import { expect, test } from 'vitest';
import { engineDomains } from '../../../src/domains/engines.ts';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import type { PlannedObject } from '../../../src/engine/explain/plan.ts';
import { warningsOf } from '../../../src/engine/explain/plan-warnings.ts';
import { createEngine } from '../../../src/engine/graph.ts';
import { objectKey, refOfObject, statusKey } from '../../../src/model/objects/object-key.ts';
import { createComparison } from '../../../src/model/text/field-diff.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { must } from '../../../src/model/values/result.ts';

const planned = (action: PlannedObject['action'], before?: JsonObject, after?: JsonObject): PlannedObject => ({
  cluster: 'east',
  key: objectKey(must(refOfObject((after ?? before) as JsonObject))),
  ...{ action, causes: [] },
  ...(before === undefined ? {} : { before }),
  ...(after === undefined ? {} : { after }),
});

/** What is said of a plan, as `reason: message`. */
function warningsFor(objects: readonly PlannedObject[], kindsAsWritten = false): readonly string[] {
  const engine = createEngine(createGraph(), engineDomains);
  engine.inputs.agents.set('', 'east', {
    ...{ connected: true, since: 0, problem: '' },
    warm: true,
    assumedWarm: false,
    kindsAsWritten,
  });
  engine.commit();
  return warningsOf(engine, objects, createComparison()).map(({ reason, message }) => `${reason}: ${message}`);
}

const service = (spec: JsonObject, ignored: string): JsonObject => ({
  ...{ apiVersion: 'v1', kind: 'Service' },
  metadata: { name: 'web', namespace: 'shop', annotations: { 'fleetrelay.dev/ignore-fields': ignored } },
  spec,
});
const deployment = (spec: JsonObject): JsonObject => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'shop' } },
  spec,
});
const autoscaler: JsonObject = {
  ...{ apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', metadata: { name: 'web', namespace: 'shop' } },
  spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, maxReplicas: 3 },
};

test('a fixed field that is left to others is never sent, so it is not said to be refused', () => {
  const change = (ignored: string) =>
    planned('change', service({ clusterIP: '10.0.0.1' }, ignored), service({ clusterIP: '10.0.0.2' }, ignored));
  expect(warningsFor([change('spec.clusterIP')])).toEqual([expect.stringContaining('FieldKept: spec.clusterIP')]);
  expect(warningsFor([change('spec.type')])).toEqual([expect.stringContaining('ImmutableField')]);
});

test('an autoscaler that was never in the cluster leaves no replicas to itself, and one that goes does', () => {
  const change = planned('change', deployment({ replicas: 5 }), deployment({}));
  expect(warningsFor([change, planned('cancel', autoscaler)])).toEqual([
    expect.stringContaining('DefaultRestored: spec.replicas becomes 1'),
  ]);
  expect(warningsFor([change, planned('remove', autoscaler)])).toEqual([
    expect.stringContaining('FieldKept: spec.replicas'),
  ]);
});

test('a directory takes what is written: nothing is refused, kept or given a default there', () => {
  const kept = planned(
    'change',
    service({ type: 'NodePort' }, 'spec.type'),
    service({ type: 'ClusterIP' }, 'spec.type'),
  );
  const fixed = planned('change', deployment({ selector: { a: 'b' } }), deployment({ selector: { a: 'c' } }));
  const given = planned('change', deployment({ replicas: 5 }), deployment({}));
  for (const each of [kept, fixed, given]) {
    expect(warningsFor([each])).toHaveLength(1);
    expect(warningsFor([each], true)).toEqual([]);
  }
});

test('a Namespace that goes is warned of, and the end of the status of one is not', () => {
  const removal = planned('remove', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  expect(warningsFor([removal])).toEqual([expect.stringContaining('NamespaceRemoved')]);
  expect(warningsFor([{ ...removal, key: statusKey(removal.key) }])).toEqual([]);
});
