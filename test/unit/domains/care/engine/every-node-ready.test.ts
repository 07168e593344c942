import { describe, expect, it } from 'vitest';
import { condition, createShootWithNodes, type NodeDifference } from '../../../../support/shoot-with-nodes.ts';

const ONE_POOL = '[{name: a, minimum: 1}]';
const SUCCEEDED = { type: 'Create', state: 'Succeeded', progress: 100, lastUpdateTime: '2025-01-01T00:00:00Z' };

/** A Shoot with one Node that is as it should be. */
function world({ seed = true, pools = ONE_POOL } = {}) {
  const made = createShootWithNodes(pools, { seed });
  made.node('n1');
  if (seed) {
    made.config('a');
    made.leases(['kube-node-lease/n1', 'kube-system/gardener-node-agent-n1']);
    made.machines('a', 1);
    made.machine('m1', 'Running', 'n1');
  }
  // Without a written condition a failure is False at once.
  made.wrote([], SUCCEEDED);
  return made;
}

const good = { status: 'True', reason: 'EveryNodeReady', message: 'All nodes are ready.' };

describe('the condition', () => {
  it.each([true, false])('is True if all Nodes are as they should be (with a Seed: %j)', (seed) => {
    expect(world({ seed }).found()).toMatchObject(good);
  });

  it('does not exist without worker pools', () => {
    expect(world({ pools: '[]' }).found()).toBeUndefined();
  });

  it.each([
    [undefined, 'Shoot control plane has not been fully created yet.'],
    ['Create', 'Shoot control plane has not been fully created yet.'],
    ['Delete', 'Shoot control plane has already been or is about to be deleted.'],
    ['Reconcile', 'Shoot control plane is not running at the moment.'],
  ])('is not checked while the API server is down (operation %s)', (type, message) => {
    const made = world();
    made.live('seed', 'apps/Deployment/shoot--web--blue/kube-apiserver');
    made.wrote([], type === undefined ? undefined : { ...SUCCEEDED, type });
    expect(made.found()).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError', message });
  });

  it('is Progressing for its threshold after it was True', () => {
    const made = world();
    const times = { lastTransitionTime: '2026-01-01T00:00:00Z', lastUpdateTime: '2026-01-01T00:00:00Z' };
    made.wrote([{ type: 'EveryNodeReady', ...good, ...times }], SUCCEEDED);
    made.node('n1', { conditions: [condition('Ready', 'False')] });
    expect(made.found()).toMatchObject({ status: 'Progressing', reason: 'NodeUnhealthy' });
  });
});

describe('the health of Nodes', () => {
  const unhealthy = (conditions: NodeDifference['conditions'] = []) => {
    const made = world();
    made.node('n1', { conditions });
    return made.found();
  };

  it.each(['False', 'Unknown'])('a Node that is not ready: %s', (status) => {
    const message = `Node "n1" in worker group "a" is unhealthy: condition "Ready" has invalid status ${status} (expected True) due to KubeletNotReady: runtime is down`;
    const found = unhealthy([condition('Ready', status, 'KubeletNotReady', 'runtime is down')]);
    expect(found).toMatchObject({ status: 'False', reason: 'NodeUnhealthy', message });
    expect(found?.codes).toBeUndefined();
  });

  it('a Node without the condition Ready', () => {
    const made = world();
    made.live('blue', '/Node//n1', { metadata: { name: 'n1', labels: { 'worker.gardener.cloud/pool': 'a' } } });
    expect(made.found()?.message).toBe('Node "n1" in worker group "a" is unhealthy: condition "Ready" is missing');
  });

  it.each([
    ['DiskPressure', 'KubeletHasDiskPressure', ['ERR_CONFIGURATION_PROBLEM']],
    ['MemoryPressure', 'kubelethasinsufficientmemory', ['ERR_CONFIGURATION_PROBLEM']],
    ['PIDPressure', 'KubeletHasInsufficientPID', ['ERR_CONFIGURATION_PROBLEM']],
    ['NetworkUnavailable', 'NoRouteCreated', undefined],
  ])('%s must be False; the code follows from the reason', (type, reason, codes) => {
    const found = unhealthy([condition(type, 'True', reason)]);
    expect(found?.message).toContain(`condition "${type}" has invalid status True (expected False) due to ${reason}`);
    expect(found?.codes).toEqual(codes);
  });

  it('a long message of a Node is cut', () => {
    const found = unhealthy([condition('Ready', 'False', 'Because', 'x'.repeat(1_000_000))]);
    expect(found?.message.length).toBeLessThan(2_300);
    expect(found?.message).toMatch(/cut, 1000\d{3} characters$/);
  });

  it('pools are judged in their order, and Nodes by name', () => {
    const made = world({ pools: '[{name: b}, {name: a}]' });
    made.config('b');
    for (const [name, pool] of [
      ['n2', 'a'],
      ['n1', 'a'],
      ['z2', 'b'],
      ['z1', 'b'],
    ] as const) {
      made.node(name, { pool, conditions: [condition('Ready', 'False')] });
    }
    expect(made.found()?.message).toContain('Node "z1" in worker group "b"');
  });

  it('Nodes of other pools and without a pool are not judged with a Seed', () => {
    const made = world();
    for (const [name, pool] of [
      ['n2', 'other'],
      ['n3', null],
    ] as const) {
      made.node(name, { pool, conditions: [condition('Ready', 'False')], annotations: UNMANAGED });
    }
    expect(made.found()).toMatchObject(good);
  });

  it('Nodes without a pool belong to the first pool without a Seed', () => {
    const made = world({ seed: false, pools: '[{name: a, minimum: 2}, {name: b}]' });
    made.node('n2', { pool: null });
    expect(made.found()).toMatchObject(good);
    made.node('n2', { pool: null, conditions: [condition('Ready', 'False')] });
    expect(made.found()?.message).toContain('Node "n2" in worker group "a" is unhealthy');
  });
});

const UNMANAGED = { 'node.machine.sapcloud.io/not-managed-by-mcm': '1' };

describe('the version of kubelets', () => {
  const withVersion = (version: string, pool = '') => {
    const made = world({ seed: false, pools: `[{name: a${pool === '' ? '' : `, kubernetes: {version: ${pool}}`}}]` });
    made.node('n1', { version });
    return made.found();
  };

  it.each([
    ['v1.33.1', ''],
    ['v1.33.2-gke.1', ''],
    ['v1.32.0', '1.32.9'],
    ['v1.33.2-gke.1', '1.33.2-gke.2'],
  ])('%s is older than what the pool should have (%s)', (version, pool) => {
    const desired = pool === '' ? '1.33.2' : pool;
    const message = `The kubelet version for node n1 (${version}) does not match the desired Kubernetes version (v${desired})`;
    expect(withVersion(version, pool)).toMatchObject({ status: 'False', reason: 'KubeletVersionMismatch', message });
  });

  it.each([
    ['v1.33.2', ''],
    ['v1.33.2+k3s1', ''],
    ['v1.33.3', ''],
    ['v1.32.9', ''],
    ['v1.34.0', ''],
    ['v1.33', ''],
    ['', ''],
    ['v1.33.2-gke.2', '1.33.2-gke.2'],
  ])('%j is no problem', (version, pool) => {
    expect(withVersion(version, pool)).toMatchObject(good);
  });

  it('a kubelet whose version is none', () => {
    const message =
      'Error checking for same major minor Kubernetes version for node "n1": improper constraint: ~ latest';
    expect(withVersion('latest')).toMatchObject({ reason: 'VersionParseError', message });
  });

  it('a pool whose version is none cannot be checked', () => {
    const message = 'the Kubernetes version "stable" of worker pool "a" is no version';
    expect(withVersion('v1.33.2', 'stable')).toMatchObject({
      status: 'Unknown',
      reason: 'ConditionCheckError',
      message,
    });
  });

  it('health comes first', () => {
    const made = world();
    made.node('n1', { version: 'v1.33.0' });
    made.node('n2', { conditions: [condition('Ready', 'False')] });
    expect(made.found()?.reason).toBe('NodeUnhealthy');
  });
});

describe('the number of Nodes', () => {
  it('a pool with too few Nodes', () => {
    const message =
      'Not enough worker nodes registered in worker pool "a" to meet minimum desired machine count. (1/3).';
    expect(world({ pools: '[{name: a, minimum: 3}]' }).found()).toMatchObject({ reason: 'MissingNodes', message });
  });

  it('is not judged while Nodes cannot be listed, but a fault of a Node that was seen is', () => {
    const made = world({ pools: '[{name: a, minimum: 3}]' });
    made.unseen('blue', '/Node');
    const message = 'Node of cluster blue cannot be listed: it is forbidden';
    expect(made.found()).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError', message });
    made.node('n1', { conditions: [condition('Ready', 'False')] });
    expect(made.found()).toMatchObject({ status: 'False', reason: 'NodeUnhealthy' });
  });
});

describe('operating system configs', () => {
  const reason = 'OperatingSystemConfigOutdated';
  const of = (node: string) => `the last successfully applied operating system config on node "${node}"`;

  it('lists all problems in the order of the pools', () => {
    const made = world({ pools: '[{name: missing}, {name: a}]' });
    made.node('n1', { annotations: { 'checksum/cloud-config-data': 'c0' } });
    made.live('blue', '/Node//n0', {
      metadata: { name: 'n0', labels: { 'worker.gardener.cloud/pool': 'a' } },
      status: { conditions: [condition('Ready', 'True')] },
    });
    const lines = [
      'missing operating system config secret metadata for worker pool "missing"',
      `${of('n0')} hasn't been reported yet`,
      `${of('n1')} is outdated (current: c0, desired: c1)`,
    ];
    const message = `3 errors occurred:\n\t* ${lines.join('\n\t* ')}\n\n`;
    expect(made.found()).toMatchObject({ status: 'False', reason, message });
  });

  it('leaves out Nodes that are being replaced or that have another Secret', () => {
    const made = world();
    const annotations = { 'checksum/cloud-config-data': 'c0' };
    const secret = 'worker.gardener.cloud/gardener-node-agent-secret-name';
    made.node('n1', { annotations, labels: { [secret]: 'osc-old' } });
    expect(made.found()).toMatchObject(good);
    const taints = [{ key: 'deployment.machine.sapcloud.io/prefer-no-schedule', effect: 'PreferNoSchedule' }];
    made.node('n1', { annotations, spec: { taints } });
    expect(made.found()).toMatchObject(good);
    made.node('n1', { annotations, labels: { [secret]: 'osc-a' } });
    expect(made.found()?.message).toBe(`1 error occurred:\n\t* ${of('n1')} is outdated (current: c0, desired: c1)\n\n`);
  });

  it('follows a Secret that changes; of several of one pool the last counts', () => {
    const made = world();
    made.config('a', 'c2', 'osc-b');
    expect(made.found()?.message).toContain('(current: c1, desired: c2)');
    made.live('blue', '/Secret/kube-system/osc-b');
    expect(made.found()).toMatchObject(good);
  });

  it('names ten problems, and says how many more there are', () => {
    const made = world();
    for (let at = 0; at < 25; at += 1) made.node(`x${at}`, { annotations: { 'checksum/cloud-config-data': 'c0' } });
    const { message = '' } = made.found() ?? {};
    expect(message).toContain('25 errors occurred:');
    expect(message).toContain('\n\t* and 15 more\n\n');
    expect(message.split('\n\t* ')).toHaveLength(12);
  });

  it('is Unknown while the Secrets cannot be listed, and no Secret is missing', () => {
    const made = world();
    made.live('blue', '/Secret/kube-system/osc-a');
    made.unseen('blue', '/Secret', 'kube-system');
    const message = 'Secret in namespace kube-system of cluster blue cannot be listed: it is forbidden';
    expect(made.found()).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError', message });
  });

  it('is not judged without a Seed', () => {
    const made = world({ seed: false });
    made.node('n1', { annotations: { 'checksum/cloud-config-data': 'c0' } });
    expect(made.found()).toMatchObject(good);
  });
});

describe('gardener-node-agents', () => {
  const reason = 'NodeAgentUnhealthy';

  it('a Node without a Lease, and one whose Lease has expired', () => {
    const made = world();
    made.leases(['kube-node-lease/n1']);
    const message = 'gardener-node-agent is not running on node "n1"';
    expect(made.found()).toMatchObject({ status: 'False', reason, message });
    made.leases(['kube-node-lease/n1'], ['kube-system/gardener-node-agent-n1']);
    expect(made.found()).toMatchObject({ reason, message: 'gardener-node-agent stopped running on node "n1"' });
  });

  it('Nodes that machine-controller-manager does not manage have none', () => {
    const made = world();
    made.node('n2', { annotations: UNMANAGED });
    expect(made.found()).toMatchObject(good);
  });

  it('a Lease that cannot be seen is not missing; one that has expired counts all the same', () => {
    const made = world();
    made.leases(['kube-node-lease/n1'], [], 3);
    const leavesOut = 'the report of the Leases of cluster blue leaves out 3';
    expect(made.found()).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError', message: leavesOut });
    made.leases(['kube-node-lease/n1']);
    made.unseen('blue', 'internal.fleetrelay.dev/LeaseReport', 'kube-system');
    expect(made.found()?.message).toBe(
      'LeaseReport in namespace kube-system of cluster blue cannot be listed: it is forbidden',
    );
    made.leases([], ['kube-system/gardener-node-agent-n1']);
    expect(made.found()).toMatchObject({ status: 'False', reason });
  });

  it('an agent that reports no Leases', () => {
    const made = world({ seed: false });
    made.engine.commit();
    const agent = made.engine.inputs.agents.get('', 'blue') ?? expect.fail();
    made.engine.inputs.agents.set('', 'blue', { ...agent, kindsAsWritten: false });
    const message = 'the agent of cluster blue reports no Leases';
    expect(made.found()).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError', message });
  });
});

describe('systemd units', () => {
  it('of Nodes that report on them', () => {
    const made = world();
    made.node('n2', {
      conditions: [condition('SystemdUnitsReady', 'Unknown', 'Failed', 'no answer')],
      annotations: UNMANAGED,
    });
    made.node('n1', { conditions: [condition('SystemdUnitsReady', 'False', 'Failed', 'sshd.service failed')] });
    const message = 'systemd units are not healthy on node "n1": sshd.service failed';
    expect(made.found()).toMatchObject({ status: 'False', reason: 'SystemdUnitsNotReady', message });
  });

  it('names ten Nodes, and says how many more there are', () => {
    const made = world();
    const names = Array.from({ length: 12 }, (_, at) => `x${at}`);
    for (const name of names) made.node(name, { conditions: [condition('SystemdUnitsReady', 'False')] });
    made.leases(['n1', ...names].map((name) => `kube-system/gardener-node-agent-${name}`));
    expect(made.found()?.message).toMatch(/(; node "x\d+": so it is){9}; and 2 more$/);
  });
});

describe('Leases of Nodes', () => {
  const leasesOf = (count: number, expired: number) => {
    const made = createShootWithNodes('[{name: a}]', { seed: false });
    made.wrote([], SUCCEEDED);
    const names = Array.from({ length: count }, (_, at) => `n${at}`);
    for (const name of names) made.node(name);
    const all = names.map((name) => `kube-node-lease/${name}`);
    made.leases(all.slice(expired), all.slice(0, expired));
    return made;
  };

  it('of six, one may have expired; of five, none may', () => {
    expect(leasesOf(6, 1).found()).toMatchObject(good);
    const message =
      '20% of all Leases in kube-node-lease namespace are expired - dependency-watchdog-prober might start scaling down controllers';
    expect(leasesOf(5, 1).found()).toMatchObject({ status: 'False', reason: 'TooManyExpiredNodeLeases', message });
    expect(leasesOf(3, 1).found()?.message).toMatch(/^33% of/);
  });

  it('an expired Lease without its Node is one of all, and does not count as expired', () => {
    const made = leasesOf(4, 0);
    made.leases(
      ['kube-node-lease/n0'],
      ['gone', 'lost'].map((name) => `kube-node-lease/${name}`),
    );
    expect(made.found()).toMatchObject(good);
    made.node('gone');
    expect(made.found()?.message).toMatch(/^33% of/);
  });

  it('a report that leaves Leases out proves nothing, unless enough have expired whatever the others are', () => {
    const made = leasesOf(4, 0);
    made.leases(['kube-node-lease/n0'], ['kube-node-lease/n1'], 6);
    expect(made.found()).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError' });
    made.leases(['kube-node-lease/n0'], ['kube-node-lease/n1'], 3);
    expect(made.found()?.reason).toBe('TooManyExpiredNodeLeases');
  });
});
