import { expect, test } from 'vitest';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { CONTROL_PLANE, careWorld, SHOOT, SINCE } from '../../../../support/care-world.ts';
import { controlPlaneComponent } from '../../../../support/control-plane.ts';

/** The constraint about keys that are rotated by themselves. The world begins at midnight of 2026-01-01. */

const TYPE = 'AutomaticCredentialsRotationPossible';
const HOUR = 3600;
const NIGHTLY = '{schedules: [{start: "0 20 * * *", end: "0 8 * * *"}]}';
const spec = (hibernation: string, period = '24h', window = '{begin: "220000+0000", end: "230000+0000"}'): string =>
  `{seedName: seed, hibernation: ${hibernation}, maintenance: {timeWindow: ${window}, autoRotation: {credentials: {etcdEncryptionKey: {rotationPeriod: ${period}}}}}}`;

function world(text = spec(NIGHTLY), created = '2025-12-01T00:00:00Z') {
  const made = careWorld('{}');
  const declare = (declared: string, creationTimestamp = created): void => {
    const metadata = `{name: blue, namespace: garden-web${creationTimestamp === '' ? '' : `, creationTimestamp: "${creationTimestamp}"`}}`;
    made.file(
      'shoot.yaml',
      `apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: ${metadata}\nspec: ${declared}\n`,
    );
    made.engine.commit();
  };
  declare(text);
  made.live('seed', `apps/Deployment/${CONTROL_PLANE}/kube-apiserver`, controlPlaneComponent('controlplane'));
  made.wrote();
  const deadlines = made.engine.deadlines;
  return {
    ...made,
    declare,
    constraint: () => made.constraints().find(({ type }) => type === TYPE),
    /** When the constraint may change, in hours since the world began. */
    until: () => ((deadlines.get('care', `rotation/${SHOOT}`)?.at ?? Number.NaN) - SINCE) / HOUR,
    pass: (hours: number) => made.passed(`rotation/${SHOOT}`, SINCE + hours * HOUR),
  };
}

test('is there while the Shoot sleeps in its next maintenance', () => {
  const { constraint, declare } = world();
  expect(constraint()).toMatchObject({ status: 'False', reason: 'MaintenanceWindowDuringHibernation' });
  declare(spec('{}'));
  expect(constraint()).toBeUndefined();
  declare(spec(NIGHTLY, '24h', '{begin: "120000+0000", end: "130000+0000"}'));
  expect(constraint()).toBeUndefined();
});

test('is absent until the key is older than its period', () => {
  const { constraint, wrote, until, pass } = world(spec(NIGHTLY, '48h'), '2025-12-30T12:00:00Z');
  expect([constraint(), until()]).toEqual([undefined, 12 + 1 / HOUR]);
  pass(12 + 1 / HOUR);
  expect([constraint()?.status, until()]).toEqual(['False', 20]);
  const rotated = (lastCompletionTime: string): JsonObject => ({
    credentials: { rotation: { etcdEncryptionKey: { lastCompletionTime } } },
  });
  wrote(rotated('2026-01-01T10:00:00Z'));
  expect([constraint(), until()]).toEqual([undefined, 58 + 1 / HOUR]);
  wrote(rotated('2025-12-30T10:00:00Z'));
  expect(constraint()?.status).toBe('False');
});

test('follows the schedules, each event in its time', () => {
  const { constraint, until, pass, wrote } = world();
  const seen: unknown[] = [];
  for (const hibernated of [false, false, false, true, true]) {
    wrote({ hibernated });
    seen.push([until(), constraint()?.status]);
    pass(until());
  }
  expect(seen).toEqual([
    [8, 'False'],
    [20, 'False'],
    // It should sleep and does not: its next sleep begins after the maintenance.
    [22, undefined],
    [32, 'False'],
    [44, 'False'],
  ]);
});

test('is judged from the connection of the agent on, not at each event since the key is too old', () => {
  expect(world(spec(NIGHTLY), '2010-01-01T00:00:00Z').until()).toBe(8);
});

test('of a Shoot that sleeps stays before the ManagedResources that are ignored', () => {
  const { constraints, live, declare } = world();
  live('seed', `resources.gardener.cloud/ManagedResource/${CONTROL_PLANE}/a`, {
    metadata: { annotations: { 'resources.gardener.cloud/ignore': 'true' } },
  });
  declare(spec(NIGHTLY.replace('{', '{enabled: true, ')));
  expect(constraints().map(({ type }) => type)).toEqual([
    ...['HibernationPossible', 'MaintenancePreconditionsSatisfied', 'CACertificateValiditiesAcceptable'],
    ...['CRDsWithProblematicConversionWebhooks', TYPE, 'HasIgnoredManagedResources'],
  ]);
});

test('is Progressing while the Shoot is created, and stays while its API server is down', () => {
  const { constraint, wrote, live } = world();
  wrote({ lastOperation: { type: 'Create', state: 'Processing' } });
  expect(constraint()?.status).toBe('Progressing');
  wrote();
  live('seed', `apps/Deployment/${CONTROL_PLANE}/kube-apiserver`);
  expect(constraint()?.status).toBe('False');
});

test('is absent without rotation, and if the age of the key is not known', () => {
  const { constraint, declare, until } = world();
  declare(spec(NIGHTLY), '');
  expect([constraint(), until()]).toEqual([undefined, Number.NaN]);
  declare(`{seedName: seed, hibernation: ${NIGHTLY}}`);
  expect([constraint(), until()]).toEqual([undefined, Number.NaN]);
});

test('is Unknown with more schedules than are judged', () => {
  const { constraint, declare } = world();
  const schedules = (count: number) => `{schedules: [${Array(count).fill('{start: "0 20 * * *"}').join(', ')}]}`;
  declare(spec(schedules(100)));
  expect(constraint()?.status).toBe('False');
  declare(spec(schedules(101)));
  expect(constraint()).toMatchObject({
    ...{ status: 'Unknown', reason: 'ConditionCheckError' },
    message: 'spec.hibernation has 101 schedules, and at most 100 are judged',
  });
});
