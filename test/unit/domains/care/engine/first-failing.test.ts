import { expect, test } from 'vitest';
import { firstFailing } from '../../../../../src/domains/care/engine/checks/first-failing.ts';
import type { ConditionFinding } from '../../../../../src/domains/care/engine/thresholds.ts';
import { notChecked } from '../../../../../src/domains/care/engine/visibility.ts';

const finding = (outcome: ConditionFinding['outcome'], reason: string): ConditionFinding => ({
  outcome,
  reason,
  message: '',
});
const good = finding('good', 'Good');
const unseen = notChecked('Etcd cannot be listed');

test.each<[string, readonly (ConditionFinding | undefined)[], ConditionFinding]>([
  ['no rule fails', [undefined, undefined], good],
  ['the first fault counts', [undefined, finding('failed', 'A'), finding('failed', 'B')], finding('failed', 'A')],
  ['a fault counts before what could not be checked', [unseen, finding('failed', 'B')], finding('failed', 'B')],
  ['what could not be checked is not good', [undefined, unseen, undefined], unseen],
  ['the first that could not be checked is named', [unseen, notChecked('Deployment')], unseen],
  [
    'another unknown is a fault',
    [finding('unknown', 'Outdated'), finding('failed', 'B')],
    finding('unknown', 'Outdated'),
  ],
  [
    'progress is a fault',
    [finding('progressing', 'Rolling'), finding('failed', 'B')],
    finding('progressing', 'Rolling'),
  ],
  ['a good finding is a rule that holds', [finding('good', 'A'), finding('failed', 'B')], finding('failed', 'B')],
])('%s', (_name, findings, expected) => {
  expect(firstFailing(findings, good)).toEqual(expected);
});

test('rules after a fault are not evaluated', () => {
  function* rules(): Generator<ConditionFinding | undefined> {
    yield finding('failed', 'A');
    expect.fail('evaluated');
  }
  expect(firstFailing(rules(), good).reason).toBe('A');
});
