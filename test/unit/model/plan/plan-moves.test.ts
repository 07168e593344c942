import { expect, test } from 'vitest';
import type { ClusterPlan, PlannedChange, PlanView } from '../../../../src/model/plan/plan.ts';
import { movedSince, parsePlan } from '../../../../src/model/plan/plan-moves.ts';
import { EMPTY_PLAN } from '../../../support/cli.ts';

const change = (action: PlannedChange['action'], object: string): PlannedChange => ({ action, object, because: [] });
const planOf = (clusters: readonly ClusterPlan[], more: Partial<PlanView> = {}): PlanView => ({
  ...EMPTY_PLAN,
  clusters,
  ...more,
});

test('an equal plan has not moved', () => {
  const plan = planOf([{ cluster: 'east', changes: [change('create', 'ConfigMap/a')] }]);
  expect(movedSince(plan, plan)).toEqual([]);
});

test('moved revisions, agents and changes are named; a change in several clusters is named once', () => {
  const before = planOf([
    { cluster: 'east', changes: [change('remove', 'ConfigMap/a')] },
    { cluster: 'west', waits: 'its agent is not connected', changes: [change('remove', 'ConfigMap/a')] },
  ]);
  const now = planOf(
    [
      { cluster: 'east', changes: [change('hold', 'ConfigMap/a')] },
      { cluster: 'west', changes: [change('hold', 'ConfigMap/a')] },
    ],
    { state: { revisions: { main: 'c'.repeat(40), team: 'd'.repeat(40) } } },
  );
  expect(movedSince(before, now)).toEqual([
    'source main was at bbbbbbbbbbbb and is at cccccccccccc',
    'source team was at no revision and is at dddddddddddd',
    'west does not wait any more (its agent is not connected)',
    'new: hold ConfigMap/a in east, west',
    'gone: remove ConfigMap/a in east, west',
  ]);
});

test.each([[undefined], [null], [[]], [{}], [{ clusters: [] }]])('%j is no plan', (value) => {
  expect(parsePlan(value).ok).toBe(false);
});
