import { describe, expect, test } from 'vitest';
import type { ClusterView, FleetView, OutputView } from '../../../src/api/server-api.ts';
import { CHECKS, runChecks } from '../../../src/compose/check/checks.ts';
import type { Found } from '../../../src/compose/check/finding.ts';
import { stopButtonMessage } from '../../../src/model/agent/agent.ts';
import { recordingRoots, runCli } from '../../support/cli.ts';
import { runServer } from '../../support/running-server.ts';
import { clusterView, fakeApi, fleetView } from '../../support/server-api.ts';

const source = fleetView().sources[0];
const safeMode = {
  mode: 'scoped',
  causes: [{ cluster: 'west', reason: 'SnapshotMissing', message: 'no input snapshot of it is here' }],
} as const;

const counts = { targeted: 3, applied: 3, failed: 0, held: 0, pending: 0, unreachable: 0 };
const well = fleetView({
  clusters: [clusterView('east', { counts })],
  heldRemovals: [],
  diagnostics: [],
});

function findings(fleet: FleetView, outputs: readonly OutputView[] = []): readonly Found[] {
  const subject = { fleet, outputs, version: '0.0.1', api: 'http://127.0.0.1:9980' };
  return CHECKS.fleet.flatMap(({ run }) => run(subject));
}

function problems(fleet: FleetView, outputs?: readonly OutputView[]): readonly Found[] {
  return findings(fleet, outputs).filter(({ severity }) => severity !== 'ok');
}

function output(over: Partial<OutputView>): OutputView {
  const object = 'ConfigMap/web/settings';
  return {
    cluster: 'east',
    object,
    state: 'applied',
    digest: null,
    origins: [],
    reason: '',
    message: '',
    health: null,
    ...over,
  };
}

function east(over: Partial<ClusterView>): FleetView {
  return { ...well, clusters: [clusterView('east', { counts, ...over })] };
}

test('a fleet that is well has only ok findings, one for each thing that was checked', () => {
  expect(problems(well)).toEqual([]);
  expect(findings(well).map(({ reason }) => reason)).toEqual([
    'ServerReachable',
    'ServerReady',
    'SourceSynced',
    'ClusterInSync',
  ]);
});

describe('each problem has a finding with a fix:', () => {
  const refusal = (reason: string, message = 'm') => ({
    ...{ reason, message, address: '10.0.0.7', at: '2026-01-01T00:00:00Z' },
  });
  const bound = refusal(
    'ClusterIdBound',
    'the name east belongs to cluster id a, not b; if the cluster was replaced, run: fleetrelay cluster replace east',
  );
  const condition = (type: string, reason: string, message = 'm') => ({
    type,
    status: 'False' as const,
    reason,
    message,
  });
  const cases: readonly (readonly [name: string, fleet: FleetView, reason: string, fix: RegExp])[] = [
    ['not ready', { ...well, ready: false }, 'ServerNotReady', /readyz/],
    [
      'not ready, and where that can be asked',
      { ...well, ready: false, notReady: ['r'], metricsAddress: 'http://127.0.0.1:9983' },
      'ServerNotReady',
      / http:\/\/127\.0\.0\.1:9983\/readyz /,
    ],
    ['another version', { ...well, version: '0.9.0' }, 'VersionSkew', /minor version/],
    ['no clusters', { ...well, clusters: [] }, 'NoClusters', /cluster register/],
    [
      'never connected',
      east({ connected: false, connectionSince: null }),
      'NeverConnected',
      /cluster register east --install/,
    ],
    ['disconnected', east({ connected: false }), 'AgentDisconnected', /fleetrelay check --context/],
    ['another id', east({ connected: false, refusal: bound }), 'AgentRefused', /^fleetrelay cluster replace east$/],
    [
      'a wrong token, of an agent that has never connected',
      east({ connected: false, connectionSince: null, refusal: refusal('WrongToken') }),
      'AgentRefused',
      /^give the agent the token of east: fleetrelay cluster token east/,
    ],
    [
      'a caller that is refused beside the connected agent',
      east({ refusal: refusal('SecondAgent') }),
      'CallerRefused',
      /^stop one of the two agents/,
    ],
    [
      'an agent with a name that is not declared',
      { ...well, undeclaredAgents: { esat: refusal('UnknownCluster') } },
      'UndeclaredAgent',
      /^declare KubernetesCluster esat/,
    ],
    ['a delta that is not taken', east({ problem: 'too large' }), 'Blocked', /log of the agent of east/],
    ['not warm', east({ warm: false }), 'NotWarm', /^$/],
    ['unknown kinds', east({ conditions: [condition('Discovered', 'KindsUnknown')] }), 'KindsUnknown', /excludedKinds/],
    [
      'a cluster that does not answer',
      east({ conditions: [condition('InSync', 'ClusterUnreadable')] }),
      'ClusterUnreadable',
      /log/,
    ],
    [
      'a declaration as last known good',
      east({ conditions: [condition('Declared', 'LastKnownGood')] }),
      'LastKnownGood',
      /mend/,
    ],
    ['an agent of another version', east({ agentVersion: '0.9.0' }), 'VersionSkew', /upgrade/],
    [
      'a status branch that fails',
      { ...well, statusBranch: { state: 'failing', message: 'denied', commit: null } },
      'StatusBranchFailing',
      /write access/,
    ],
    ['held removals', { ...well, heldRemovals: fleetView().heldRemovals }, 'RemovalsHeld', /fleetrelay approve a{12}$/],
    ['a cluster that safe mode waits for', { ...well, safeMode }, 'SnapshotMissing', /its agent/],
    ['a bad file', { ...well, diagnostics: fleetView().diagnostics }, 'YamlSyntax', /^$/],
  ];
  test.each(cases)('%s', (_name, fleet, reason, fix) => {
    const found = problems(fleet);
    expect(found.map((each) => each.reason)).toContain(reason);
    expect(found.find((each) => each.reason === reason)?.fix ?? '').toMatch(fix);
  });

  test.each([
    ['failing', 'SourceFailing', /mend the access/],
    ['refused', 'SourceRefused', /fleetrelay source accept main 222222222222$/],
  ] as const)('a source that is %s', (state, reason, fix) => {
    if (source === undefined) throw new Error('there is no source');
    const sources = [{ ...source, state, message: 'm', refusedRevision: '2'.repeat(40) }];
    expect(problems({ ...well, sources }).find((each) => each.reason === reason)?.fix).toMatch(fix);
  });

  test.each([
    [output({ state: 'failed', reason: 'NoSuchKind', message: 'no' }), 'NoSuchKind', /CustomResourceDefinition/],
    [output({ state: 'failed', reason: 'Forbidden', message: 'no' }), 'Forbidden', /--allow .*aggregate-to-agent/],
    [output({ state: 'failed', message: 'no' }), 'ObjectFailed', /fleetrelay explain east ConfigMap\/web\/settings/],
    [output({ state: 'conflict', message: 'kubectl has it' }), 'ObjectConflict', /cluster adopt east --dry-run/],
    [output({ state: 'held', reason: 'KindUnknown' }), 'KindUnknown', /namespace/],
    [
      output({
        state: 'paused',
        reason: 'Paused',
        message: stopButtonMessage('remove the file /east/paused'),
      }),
      'ClusterPaused',
      /^remove the file \/east\/paused$/,
    ],
  ])('an object that is %o', (each, reason, fix) => {
    expect(problems(well, [each]).find((found) => found.reason === reason)?.fix).toMatch(fix);
  });

  test('a refusal says who was refused, when, and why; an agent that runs is not to be installed', () => {
    const refused = refusal('WrongToken', 'the token is another one');
    const [found, ...others] = problems(east({ connected: false, connectionSince: null, refusal: refused }));
    expect(others).toEqual([]);
    expect(found?.what).toBe('refused at 2026-01-01T00:00:00Z from 10.0.0.7: WrongToken: the token is another one');
    expect(found?.fix).not.toContain('--install');
  });

  test('an object that an annotation excludes does not press the stop button', () => {
    const exempt = output({ state: 'paused', reason: 'ReconcileDisabled', message: 'it carries the annotation' });
    expect(problems(well, [exempt]).map(({ reason, what }) => [reason, what])).toEqual([
      ['ObjectsExempt', '1 object left alone: it carries the annotation'],
    ]);
  });

  test('a cluster without its agent is looked at from its own side, but a directory has no context', () => {
    const away = { connected: false, inSync: false, agentVersion: null };
    expect(problems(east(away))[0]?.fix).toContain('--context');
    expect(problems(east({ ...away, kubernetesVersion: null }))[0]?.fix).not.toContain('--context');
  });

  test.each([
    [{ applied: 1, pending: 2 }, 'NotAppliedYet', 'connected, 1 of 3 applied: m'],
    [{ applied: 1, held: 2 }, 'ObjectsHeld', 'connected, 1 of 3 applied, 2 stay as they are: m'],
  ])('a cluster that has not applied all is not ok: %j', (over, reason, what) => {
    const found = problems(east({ counts: { ...counts, ...over }, message: 'm' }));
    expect(found.map((each) => [each.reason, each.what])).toEqual([[reason, what]]);
  });

  test('a cluster whose drift is only reported is not ok, and its fix lists what differs', () => {
    const [found] = problems(east({ inSync: false, drifted: 2 }));
    expect([found?.reason, found?.what, found?.fix]).toEqual([
      'ObjectsDrifted',
      'others have changed or removed 2 objects, and drift is only reported',
      'see what differs: fleetrelay get outputs --cluster east',
    ]);
  });

  test('a suspended cluster is not ok, and its fix resumes it', () => {
    const suspended = { by: 'ann', at: '2026-01-02T03:04:05Z', reason: '' };
    const [found] = problems(east({ suspended, message: 'suspended by ann' }));
    expect([found?.reason, found?.fix]).toEqual(['ClusterSuspended', 'to go on: fleetrelay cluster resume east']);
  });

  test('a suspended cluster with failures says both, the failures first', () => {
    const suspended = { by: 'ann', at: '2026-01-02T03:04:05Z', reason: '' };
    const failed = output({ state: 'failed', message: 'no' });
    const found = problems(east({ suspended, message: 'suspended by ann' }), [failed]);
    expect(found.map(({ severity, reason }) => `${severity} ${reason}`)).toEqual([
      'error ObjectFailed',
      'warning ClusterSuspended',
    ]);
  });

  test('a suspended source is not ok, and its fix resumes it', () => {
    const suspended = { by: 'ann', at: '2026-01-02T03:04:05Z', reason: '' };
    const [found] = problems({ ...well, sources: well.sources.map((each) => ({ ...each, suspended })) });
    expect([found?.reason, found?.fix]).toEqual([
      'SourceSuspended',
      `to go on: fleetrelay source resume ${well.sources[0]?.name}`,
    ]);
  });

  test('hundreds of objects are not hundreds of findings', () => {
    const many = Array.from({ length: 300 }, (_, index) =>
      output({ state: 'failed', object: `ConfigMap/web/c${index}` }),
    );
    const found = problems(well, many);
    expect(found).toHaveLength(11);
    expect(found.at(-1)?.what).toBe('290 more objects are not as they should be');
  });

  test('an agent that is away because its cluster sleeps is no finding', () => {
    const away = { connected: false, inSync: false, agentVersion: null };
    expect(problems(east({ ...away, asleep: 'Shoot garden-web/east is hibernated' }))).toEqual([]);
    expect(problems(east(away))).not.toEqual([]);
  });

  test('a state that ends by itself is no finding', () => {
    const states = ['pending', 'removing', 'kept', 'unreachable', 'applied'] as const;
    expect(
      problems(
        well,
        states.map((state) => output({ state })),
      ),
    ).toEqual([]);
  });
});

describe('fleetrelay check', () => {
  test('prints findings by area, without colours as words, and exits with 1 for an error', async () => {
    const server = await runServer({ api: fakeApi() });
    try {
      const { code, out } = await runCli(['check', '--api', server.url]);
      expect(code).toBe(1);
      expect(out).toMatch(/^server\n {2}ok {6}http/);
      expect(out).toContain('error   clusters/east/web.yaml:3:5: bad indentation [YamlSyntax]');
      expect(out).toContain('do: look at them with `fleetrelay approve --list`');
      expect(out).not.toContain('\u001b');
      const json = JSON.parse((await runCli(['check', '--api', server.url, '-o', 'json'])).out);
      expect(json).toMatchObject({ errors: 2, findings: expect.any(Array) });
    } finally {
      await server.stop();
    }
  });

  test('looks at a cluster and a checkout although the server is away', async () => {
    const roots = recordingRoots();
    const { code, out } = await runCli(['check', '--api', 'http://127.0.0.1:1', '--checkout', 'd', '-n', 'x'], {
      roots,
    });
    expect(code).toBe(1);
    expect(out).toContain('[ServerUnreachable]');
    expect(roots.calls).toEqual([['check', { checkout: 'd', kube: { namespace: 'x' } }]]);
  });

  test('a check that fails is a finding, and the others are made', async () => {
    const broken = { ...well, sources: [null] } as unknown as FleetView;
    const io = { cwd: '/', env: {}, version: '0.0.1' };
    const found = await runChecks({ fleet: { fleet: broken, outputs: [], version: '0.0.1', api: 'a' } }, io);
    expect(found.filter(({ severity }) => severity !== 'ok')).toEqual([
      {
        ...{ severity: 'unknown', area: 'source', reason: 'CheckFailed', where: 'sources' },
        what: expect.stringContaining('null'),
      },
    ]);
    expect(found.map(({ reason }) => reason)).toEqual(expect.arrayContaining(['ServerReachable', 'ClusterInSync']));
  });

  test('has to have something to look at', async () => {
    expect(await runCli(['check', '--without-server'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('nothing to look at'),
    });
  });
});
