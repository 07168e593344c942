import { describe, expect, it } from 'vitest';
import { condition, createShootWithNodes } from '../../../../support/shoot-with-nodes.ts';

/** Machines that have failed and that machine-controller-manager keeps for people to look at. */

const SUCCEEDED = { type: 'Create', state: 'Succeeded', progress: 100, lastUpdateTime: '2025-01-01T00:00:00Z' };
const UNTIL = '2026-02-01T00:00:00Z';
const PRESERVED = condition('Preserved', 'True', 'PreservedByMCM');
const GONE = condition('Ready', 'Unknown', 'NodeStatusUnknown', 'Kubelet stopped posting node status.');
const BAD = condition('Ready', 'False', 'KubeletNotReady', 'no network');
const KEPT = { conditions: [PRESERVED, GONE], spec: { unschedulable: true } };
const NAMES = ['n1', 'n2', 'n3', 'n4'];

/** A Shoot with four Nodes and Machines, as desired, of which the Machine of `n4` has failed and is preserved. */
function world() {
  const made = createShootWithNodes('[{name: a, minimum: 4}, {name: b, minimum: 0}]', { seed: true });
  for (const pool of ['a', 'b']) made.config(pool);
  for (const name of NAMES) {
    made.node(name);
    made.machine(`m-${name}`, 'Running', name);
  }
  made.node('n4', KEPT);
  made.machine('m-n4', 'Failed', 'n4', undefined, UNTIL);
  const leases = (...nodes: readonly string[]) =>
    nodes.flatMap((name) => [`kube-system/gardener-node-agent-${name}`, `kube-node-lease/${name}`]);
  made.leases(leases('n1', 'n2', 'n3'), leases('n4'));
  made.machines('a', 4, { preservedFailedReplicas: 1 });
  made.wrote([], SUCCEEDED);
  return made;
}

const NAMED =
  'Node "n4" in worker group "a" is unhealthy: condition "Ready" has invalid status Unknown (expected True) due to NodeStatusUnknown: Kubelet stopped posting node status. (node and backing machine preserved by MCM)';

describe('the Node of a preserved Machine', () => {
  it('is named when nothing else is wrong, although its agent and its Lease are gone', () => {
    expect(world().found()).toMatchObject({ status: 'False', reason: 'NodeUnhealthy', message: NAMED });
  });

  it.each<[string, (made: ReturnType<typeof world>) => void, string]>([
    ['another Node that is not healthy', (made) => made.node('n9', { conditions: [BAD] }), 'NodeUnhealthy'],
    ['another Node of a later pool', (made) => made.node('n9', { pool: 'b', conditions: [BAD] }), 'NodeUnhealthy'],
    ['an older kubelet', (made) => made.node('n1', { version: 'v1.33.1' }), 'KubeletVersionMismatch'],
    ['an older config', (made) => made.config('a', 'c2'), 'OperatingSystemConfigOutdated'],
    ['a missing agent', (made) => made.leases([], []), 'NodeAgentUnhealthy'],
    [
      'a unit that is not ready',
      (made) => made.node('n1', { conditions: [condition('SystemdUnitsReady', 'False')] }),
      'SystemdUnitsNotReady',
    ],
    ['a missing Machine', (made) => made.machines('a', 5), 'NodesScalingUp'],
  ])('is named after %s', (_what, stage, reason) => {
    const made = world();
    stage(made);
    expect(made.found()).toMatchObject({ status: 'False', reason });
    expect(made.found()?.message).not.toContain('preserved by MCM');
  });

  it('counts for the minimum of its pool', () => {
    const made = world();
    made.live('blue', '/Node//n3');
    expect(made.found()).toMatchObject({ reason: 'MissingNodes' });
    expect(made.found()?.message).toContain('(3/4)');
  });

  it.each([
    ['is ready', [PRESERVED, condition('Ready', 'True')], { reason: 'NodeAgentUnhealthy' }],
    ['has no condition Ready', [PRESERVED, condition('Ready', '')], { reason: 'NodeUnhealthy' }],
    ['is not preserved any more', [condition('Preserved', 'False'), GONE], { reason: 'NodeUnhealthy' }],
  ])('is no exception if it %s', (_what, conditions, expected) => {
    const made = world();
    made.node('n4', { conditions });
    expect(made.found()).toMatchObject(expected);
    expect(made.found()?.message).not.toContain('preserved by MCM');
  });
});

describe('scaling with a preserved Machine', () => {
  const another = (made: ReturnType<typeof world>) => {
    made.node('n5');
    made.machine('m-n5', 'Running', 'n5');
    const all = [...NAMES, 'n5'].flatMap((name) => [
      `kube-system/gardener-node-agent-${name}`,
      `kube-node-lease/${name}`,
    ]);
    made.leases(all);
  };

  it('is done while its Node fills a place, also in a rolling update', () => {
    const made = world();
    made.machines('a', 4, { conditions: [condition('Progressing', 'True', 'MachineSetUpdated')] });
    expect(made.found()?.message).toBe(NAMED);
  });

  it('goes up: the Machine is neither erroneous nor pending, and counts as made', () => {
    const made = world();
    made.machines('a', 5);
    expect(made.found()?.message).toBe('not enough machine objects created yet (4/5)');
    made.machine('m-n5', 'Pending');
    expect(made.found()?.message).toBe('1 machine is provisioning and should join the cluster soon');
    made.machine('m-n5', 'Running');
    expect(made.found()).toMatchObject({
      reason: 'NodesScalingUp',
      message: 'not enough ready worker nodes registered in the cluster (3/5)',
    });
    made.machine('m-n4', 'Failed', 'n4');
    expect(made.found()?.message).toBe('1 machine is erroneous');
  });

  it('goes up if a Node that is not preserved is not ready', () => {
    const made = world();
    made.node('n3', { spec: { unschedulable: true } });
    expect(made.found()).toMatchObject({ reason: 'NodesRollOutScalingUp' });
  });

  it('goes down: its cordoned Node does not drain, and others do', () => {
    const made = world();
    another(made);
    const tooMany = 'too many worker nodes are registered. Exceeding maximum desired machine count (5/4)';
    expect(made.found()).toMatchObject({ reason: 'NodesScalingDown', message: tooMany });
    made.node('n5', { spec: { unschedulable: true } });
    expect(made.found()?.message).toContain('cordoned non-preserved node "n5"');
    made.machine('m-n5', 'Terminating', 'n5', UNTIL);
    expect(made.found()?.message).toMatch(/^1 machine is waiting to be completely drained/);
    made.machine('m-n5', 'Terminating', 'n5', UNTIL, UNTIL);
    expect(made.found()?.message).toBe(tooMany);
  });

  it('in a rolling update with a Node more than desired waits for ready Nodes', () => {
    const made = world();
    another(made);
    made.node('n3', { spec: { unschedulable: true } });
    made.machine('m-n3', 'Terminating', 'n3', UNTIL);
    made.machines('a', 4, { conditions: [condition('Progressing', 'True', 'MachineSetUpdated')] });
    expect(made.found()).toMatchObject({ reason: 'NodesRollOutScalingUp' });
    made.machines('a', 4);
    expect(made.found()).toMatchObject({ reason: 'NodesScalingDown' });
  });
});
