import { describe, expect, it, test } from 'vitest';
import { leaseReportOf } from '../../../../../src/domains/care/model/lease-report.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { rfc3339 } from '../../../../../src/model/text/time.ts';
import { CONTROL_PLANE, careWorld, SINCE } from '../../../../support/care-world.ts';

const WORKERS = '{seedName: seed, provider: {type: local, workers: [{name: a, minimum: 0, maximum: 1}]}}';
const WORKERLESS = '{seedName: seed}';
const GROUP = 'extensions.gardener.cloud';
const SERVER = `apps/Deployment/${CONTROL_PLANE}/kube-apiserver`;
const LEASES = 'internal.fleetrelay.dev/LeaseReport//leases';
const TYPE = 'ControlPlaneHealthy';

const keyOf = (kind: string, name = 'blue') =>
  `${GROUP}/${kind}/${kind === 'BackupEntry' ? '' : CONTROL_PLANE}/${name}`;
const condition = (status: string, message = 'no disk', more: JsonObject = {}): JsonObject => ({
  ...{ type: TYPE, status, reason: 'HealthCheckUnsuccessful', message },
  ...more,
});
const reporting = (...conditions: readonly JsonObject[]): JsonObject => ({
  spec: { type: 'local' },
  status: { conditions },
});

function world(spec = WORKERS) {
  const made = careWorld(spec);
  made.live('seed', SERVER, { spec: { replicas: 1 } });
  made.wrote();
  return made;
}

describe('what an extension object reports', () => {
  test('Progressing is taken as it is, with the kind before the reason', () => {
    const made = world();
    const codes = ['ERR_INFRA_UNAUTHORIZED'];
    const progressing = condition('Progressing', 'Baz', { reason: 'Bar', codes });
    made.live('seed', keyOf('Infrastructure'), reporting(progressing));
    const message = 'Baz';
    expect(made.condition(TYPE)).toEqual({
      ...{ type: TYPE, status: 'Progressing', reason: 'InfrastructureBar', message, codes },
    });
  });

  it.each(['False', 'Unknown'])('%s is a failure with the codes of the report', (status) => {
    const made = world();
    made.live(
      'seed',
      keyOf('Worker'),
      reporting(condition(status, 'no disk', { codes: ['ERR_CONFIGURATION_PROBLEM'] })),
    );
    expect(made.condition(TYPE)).toEqual({
      ...{ type: TYPE, status: 'False', reason: 'WorkerUnhealthyReport' },
      message: 'Worker extension (shoot--web--blue/blue) reports failing health check: no disk',
      codes: ['ERR_CONFIGURATION_PROBLEM'],
    });
  });

  test('counts before the rules of the check, in the order of the kinds', () => {
    const made = world();
    expect(made.condition(TYPE)?.reason).toBe('EtcdMissing');
    for (const kind of ['Extension', 'BackupEntry', 'Worker', 'Network', 'ControlPlane']) {
      made.live('seed', keyOf(kind, `${CONTROL_PLANE}--1`), reporting(condition('False')));
    }
    for (const kind of ['ControlPlane', 'Worker', 'Network', 'Extension', 'BackupEntry']) {
      expect(made.condition(TYPE)?.reason).toBe(`${kind}UnhealthyReport`);
      made.live('seed', keyOf(kind, `${CONTROL_PLANE}--1`), reporting(condition('True')));
    }
    expect(made.condition(TYPE)?.reason).toBe('EtcdMissing');
  });

  test('of each type of condition', () => {
    const made = world();
    const types = [
      'ControlPlaneHealthy',
      'ObservabilityComponentsHealthy',
      'SystemComponentsHealthy',
      'EveryNodeReady',
    ];
    const all = [...types, 'Other'].map((type) => condition('False', type, { type }));
    made.live('seed', keyOf('Extension'), reporting(...all));
    for (const type of types) expect(made.condition(type)?.message).toMatch(new RegExp(`health check: ${type}$`));
  });

  test('a Shoot without workers has only Extensions and BackupEntries', () => {
    const made = world(WORKERLESS);
    made.live('seed', keyOf('Worker'), reporting(condition('False')));
    expect(made.condition(TYPE)?.reason).toBe('EtcdMissing');
    made.live('seed', keyOf('Extension'), reporting(condition('False')));
    expect(made.condition(TYPE)?.reason).toBe('ExtensionUnhealthyReport');
  });

  test('BackupEntries belong to the control plane that begins their name', () => {
    const made = world();
    const failing = reporting(condition('False'));
    made.live('seed', keyOf('BackupEntry', 'shoot--web--blues--1'), failing);
    made.live('seed', keyOf('BackupEntry', 'shoot--web--green--1'), failing);
    made.live('blue', keyOf('Worker'), failing);
    made.live('seed', `${GROUP}/Worker/shoot--web--green/blue`, failing);
    expect(made.condition(TYPE)?.reason).toBe('EtcdMissing');
    made.live('seed', keyOf('BackupEntry', `${CONTROL_PLANE}--1`), failing);
    expect(made.condition(TYPE)?.message).toContain('BackupEntry extension (/shoot--web--blue--1) reports');
  });

  test('a kind that cannot be listed is Unknown, unless a fault was found', () => {
    const made = world();
    const type = 'ObservabilityComponentsHealthy';
    const unlisted = { [CONTROL_PLANE]: 'forbidden' };
    made.live('seed', `apps/Deployment/${CONTROL_PLANE}/kube-state-metrics`, {
      metadata: { labels: { 'gardener.cloud/role': 'monitoring' } },
      status: { conditions: [{ type: 'Available', status: 'True' }] },
    });
    expect(made.condition(type)?.status).toBe('True');
    made.kind('seed', `${GROUP}/Network`, { unlisted });
    expect(made.condition(type)).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError' });
    expect(made.condition(type)?.message).toContain('Network in namespace shoot--web--blue of cluster seed cannot be');
    made.live('seed', keyOf('Worker'), reporting(condition('False', 'x', { type })));
    expect(made.condition(type)?.reason).toBe('WorkerUnhealthyReport');
  });

  test('is cut if it is long, and of very many conditions the first of a type counts', () => {
    const made = world();
    const long = condition('False', 'x'.repeat(1_000_000));
    const others = Array.from({ length: 100_000 }, () => condition('False', 'second'));
    made.live('seed', keyOf('Worker'), reporting(long, ...others));
    const { message = '' } = made.condition(TYPE) ?? {};
    expect(message.length).toBeLessThan(2_300);
    expect(message).toContain('cut, 1000000 characters');
  });
});

describe('heartbeats of extensions', () => {
  const policy = (care: string) =>
    `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec: {care: ${care}}\n`;
  const MAPPED = '{extensions: [{kind: Worker, type: local, namespace: extension-local}]}';
  const heartbeat = (renewedAt?: number): JsonObject => ({
    ...{ metadata: { name: 'gardener-extension-heartbeat', namespace: 'extension-local' } },
    spec: renewedAt === undefined ? {} : { renewTime: rfc3339(renewedAt * 1000) },
  });
  const start = (care = MAPPED) => {
    const made = world();
    made.file('policy.yaml', policy(care));
    made.live('seed', keyOf('Worker'), reporting(condition('True')));
    /** Stages what the agent of the Seed reports of the Leases at a moment. */
    const report = (at: number, ...leases: readonly JsonObject[]) => {
      const judged = made.engine.domains.flatMap(
        ({ parts }) => parts.agents?.needs?.get('', 'seed')?.settings?.care?.leases ?? [],
      );
      made.live('seed', LEASES, { status: { ...leaseReportOf(leases, judged, at * 1000) } } as unknown as JsonObject);
    };
    return { made, report };
  };

  test('the agent of the Seed judges conditions of the mapped extensions', () => {
    const { made } = start();
    const needs = () => made.engine.domains.flatMap(({ parts }) => parts.agents?.needs?.get('', 'seed') ?? [])[0];
    expect(needs()?.settings?.care?.leases).toEqual([
      { namespace: 'extension-local', namePrefix: 'gardener-extension-heartbeat', staleAfterMillis: 300_000 },
    ]);
    made.file('policy.yaml', policy(`{staleExtensionHealthChecks: {enabled: false}, ${MAPPED.slice(1)}`));
    made.engine.commit();
    expect(needs()?.settings?.care?.leases).toEqual([]);
  });

  test('a report is outdated when the heartbeat is older than the threshold, whatever it says', () => {
    const { made, report } = start();
    report(SINCE + 300, heartbeat(SINCE));
    expect(made.condition(TYPE)?.reason).toBe('EtcdMissing');
    report(SINCE + 301, heartbeat(SINCE));
    expect(made.condition(TYPE)).toEqual({
      ...{ type: TYPE, status: 'Unknown', reason: 'WorkerOutdatedHealthCheckReport' },
      message:
        'Worker extension (shoot--web--blue/blue) reports an outdated health status (last updated: 5m0s ago at 2026-01-01 00:00:00 +0000 UTC).',
    });
    // The agent of the Seed connects an hour later and tells the same.
    const agent = made.engine.inputs.agents.get('', 'seed') ?? expect.fail();
    made.engine.inputs.agents.set('', 'seed', { ...agent, since: (SINCE + 3_631) * 1000 });
    made.engine.commit();
    expect(made.condition(TYPE)?.message).toContain('(last updated: 1h1m0s ago at 2026-01-01 00:00:00 +0000 UTC)');
    report(SINCE + 4_000, heartbeat(SINCE + 3_999));
    expect(made.condition(TYPE)?.reason).toBe('EtcdMissing');
  });

  it.each([
    ['that is missing', []],
    ['that was never renewed', [heartbeat()]],
  ])('a heartbeat %s is outdated for ever', (_what, leases) => {
    const { made, report } = start();
    report(SINCE, ...leases);
    expect(made.condition(TYPE)).toMatchObject({ status: 'Unknown', reason: 'WorkerOutdatedHealthCheckReport' });
    expect(made.condition(TYPE)?.message).toContain('2562047h47m0s ago at 0001-01-01 00:00:00 +0000 UTC');
  });

  test('what is not mapped, or not judged, is not outdated', () => {
    for (const care of [
      '{extensions: [{kind: Worker, type: aws, namespace: extension-local}]}',
      '{extensions: [{kind: Network, type: local, namespace: extension-local}]}',
      `{staleExtensionHealthChecks: {enabled: false}, ${MAPPED.slice(1)}`,
    ]) {
      const { made, report } = start(care);
      report(SINCE);
      expect(made.condition(TYPE)?.reason).toBe('EtcdMissing');
    }
  });

  test('an agent that reports no Leases leaves it open, and a fault counts all the same', () => {
    const { made } = start();
    const type = 'ObservabilityComponentsHealthy';
    const agent = made.engine.inputs.agents.get('', 'seed') ?? expect.fail();
    made.engine.inputs.agents.set('', 'seed', { ...agent, kindsAsWritten: false });
    made.file('policy.yaml', policy(`{monitoringEnabled: false, ${MAPPED.slice(1)}`));
    made.live('seed', keyOf('Worker'), reporting(condition('True', '', { type })));
    expect(made.condition(type)).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError' });
    made.live('seed', keyOf('Extension'), reporting(condition('False', '', { type })));
    expect(made.condition(type)?.reason).toBe('ExtensionUnhealthyReport');
  });
});

test('a change in one object computes as much beside very many', () => {
  const made = world();
  const flip = (status: string) => {
    const key = keyOf('Worker', 'z');
    const value = reporting(condition(status));
    made.engine.inputs.live.set('seed', key, { key, value, digest: status } as never);
    return made.engine.commit().computed;
  };
  flip('True');
  const alone = flip('False');
  flip('True');
  for (let n = 0; n < 100; n += 1) made.live('seed', keyOf('Worker', `a${n}`), reporting(condition('True')));
  expect(flip('False')).toBe(alone);
});
