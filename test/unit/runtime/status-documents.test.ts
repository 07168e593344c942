import fc from 'fast-check';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import type { DeclaredStatus } from '../../../src/engine/status/declared-status.ts';
import { printYaml } from '../../../src/manifest/print-yaml.ts';
import type { ConditionValue } from '../../../src/model/fleet/conditions.ts';
import type { JsonValue } from '../../../src/model/text/json.ts';
import { declaredDocument, nothingWritten, writtenBefore } from '../../../src/runtime/status/status-documents.ts';
import { statusOf } from '../../../src/sinks/kubernetes/status-content.ts';

const word = fc.constantFrom('', 'Ready', 'on', '2026-01-01T00:00:00Z', 'a: b', 'x'.repeat(40_000));
const conditions: fc.Arbitrary<readonly ConditionValue[]> = fc.uniqueArray(
  fc.record({
    type: fc.constantFrom('Ready', 'Accepted', 'APIServerAvailable'),
    status: fc.constantFrom<ConditionValue['status']>('True', 'False', 'Unknown', 'Progressing'),
    reason: word,
    message: word,
    codes: fc.subarray(['ERR_QUOTA', 'ERR_INFRA']),
  }),
  { selector: ({ type }) => type },
);
const statuses: fc.Arbitrary<DeclaredStatus> = fc.record({
  kind: fc.constantFrom('Shoot', 'Placement', 'KubernetesCluster'),
  namespace: fc.constantFrom('', 'fleet'),
  name: fc.constant('one'),
  path: fc.constant('declared/one.yaml'),
  conditions,
  conditionLists: fc.record({ constraints: conditions }),
  fields: fc.record({ counts: fc.record({ targeted: fc.nat(3) }), technicalID: word }),
});
const now = fc.integer({ min: 0, max: 4_000_000_000_000 });

describe('a status rendered from itself', () => {
  it('is itself on the status branch, however much later', () => {
    fc.assert(
      fc.property(statuses, statuses, now, now, (earlier, status, first, more) => {
        const before = writtenBefore(declaredDocument(earlier, nothingWritten, first));
        const text = printYaml(declaredDocument(status, before, first + 1_000));
        const later = first + 1_000 + more;
        const again = declaredDocument(status, writtenBefore(load(text) as JsonValue, later), later);
        expect(printYaml(again)).toBe(text);
      }),
    );
  });

  it('is itself in a custom resource, however much later', () => {
    const form = fc.constantFrom('metav1' as const, 'timed' as const);
    fc.assert(
      fc.property(statuses, statuses, form, now, now, (earlier, status, rules, first, more) => {
        const before = statusOf({ ...earlier, form: rules }, undefined, 1, first);
        const written = statusOf({ ...status, form: rules }, before, 2, first + 1_000);
        expect(statusOf({ ...status, form: rules }, written, 2, first + 1_000 + more)).toEqual(written);
      }),
    );
  });
});

it('times on the branch that have not come yet, or are none, count as now', () => {
  const condition = (type: string, lastTransitionTime: string) => ({
    ...{ type, status: 'True', reason: 'R', message: '', lastTransitionTime },
  });
  const file = { status: { conditions: [condition('A', '2030-01-01T00:00:00Z'), condition('B', 'ages ago')] } };
  const read = writtenBefore(file, Date.UTC(2026, 0, 1)).conditions;
  expect(read.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual([
    '2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z',
  ]);
});
