import { describe, expect, it } from 'vitest';
import { condition, createShootWithNodes } from '../../../../support/shoot-with-nodes.ts';

const SUCCEEDED = { type: 'Create', state: 'Succeeded', progress: 100, lastUpdateTime: '2025-01-01T00:00:00Z' };
const MACHINES = 'machine.sapcloud.io';
const ROLLING = { conditions: [condition('Progressing', 'True', 'MachineSetUpdated')] };
const DONE = { conditions: [condition('Progressing', 'True', 'NewMachineSetAvailable')] };
const CORDONED = { spec: { unschedulable: true } };

/** A Shoot with these Nodes, each with its Machine, and with as many desired. */
function world(...nodes: readonly string[]) {
  const made = createShootWithNodes('[{name: a}]', { seed: true });
  made.config('a');
  made.leases(['n1', 'n2', 'n3', 'n4', 'n5'].map((name) => `kube-system/gardener-node-agent-${name}`));
  for (const name of nodes) {
    made.node(name);
    made.machine(`m-${name}`, 'Running', name);
  }
  made.machines('a', nodes.length, DONE);
  made.wrote([], SUCCEEDED);
  return made;
}

const good = { status: 'True', reason: 'EveryNodeReady' };

describe('scaling up', () => {
  it('fewer Machines than desired', () => {
    const made = world('n1');
    made.machines('a', 3);
    const message = 'not enough machine objects created yet (1/3)';
    expect(made.found()).toMatchObject({ status: 'False', reason: 'NodesScalingUp', message });
  });

  it.each([
    ['Failed', '1 machine is erroneous'],
    ['CrashLoopBackOff', '1 machine is erroneous'],
    ['Pending', '1 machine is provisioning and should join the cluster soon'],
    ['', '1 machine is provisioning and should join the cluster soon'],
    ['Available', 'not enough ready worker nodes registered in the cluster (1/2)'],
    ['Running', 'not enough ready worker nodes registered in the cluster (1/2)'],
  ])('a Machine in phase "%s"', (phase, message) => {
    const made = world('n1');
    made.machines('a', 2);
    made.machine('m-n2', phase);
    expect(made.found()).toMatchObject({ reason: 'NodesScalingUp', message });
  });

  it('several Machines; erroneous ones come first', () => {
    const made = world('n1');
    made.machines('a', 5);
    for (const name of ['m2', 'm3']) made.machine(name, 'Pending');
    for (const name of ['m4', 'm5']) made.machine(name, 'Failed');
    expect(made.found()?.message).toBe('2 machines are erroneous');
    for (const name of ['m4', 'm5']) made.machine(name, '');
    expect(made.found()?.message).toBe('4 machines are provisioning and should join the cluster soon');
  });

  it('enough Nodes, of which one takes no Pods', () => {
    const made = world('n1', 'n2');
    made.node('n2', CORDONED);
    const message = 'not enough ready worker nodes registered in the cluster (1/2)';
    expect(made.found()).toMatchObject({ reason: 'NodesRollOutScalingUp', message });
  });

  it('in a rolling update the reason is another one, unless Machines have failed', () => {
    const made = world('n1');
    made.machines('a', 3, ROLLING);
    expect(made.found()?.reason).toBe('NodesRollOutScalingUp');
    made.machines('a', 3, { ...ROLLING, failedMachines: [{ name: 'm9' }] });
    expect(made.found()?.reason).toBe('NodesScalingUp');
    made.machines('a', 3, { conditions: [condition('Progressing', 'False', 'MachineSetUpdated')] });
    expect(made.found()?.reason).toBe('NodesScalingUp');
  });

  it('a rolling update with enough ready Nodes is no fault', () => {
    const made = world('n1');
    made.machines('a', 1, ROLLING);
    expect(made.found()).toMatchObject(good);
  });

  it('all MachineDeployments count but those that are being deleted', () => {
    const made = world('n1', 'n2');
    made.machines('a', 1);
    made.machines('b', 1);
    made.machines('c', 7, {}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    expect(made.found()).toMatchObject(good);
    made.machines('c', 7);
    expect(made.found()?.message).toBe('not enough machine objects created yet (2/9)');
  });
});

describe('scaling down', () => {
  const reason = 'NodesScalingDown';

  it('a cordoned Node without a Machine', () => {
    const made = world('n1', 'n2');
    made.machines('a', 1);
    made.node('n2', CORDONED);
    made.live('seed', `${MACHINES}/Machine/shoot--web--blue/m-n2`);
    const message = 'machine object for cordoned node "n2" not found';
    expect(made.found()).toMatchObject({ status: 'False', reason, message });
  });

  it('a cordoned Node whose Machine is not being deleted', () => {
    const made = world('n1', 'n2');
    made.machines('a', 1);
    made.node('n2', CORDONED);
    const message =
      'cordoned non-preserved node "n2" found but corresponding machine object does not have a deletion timestamp';
    expect(made.found()).toMatchObject({ reason, message });
  });

  it('cordoned Nodes that are drained', () => {
    const made = world('n1', 'n2', 'n3');
    made.machines('a', 2);
    made.node('n2', CORDONED);
    made.machine('m-n2', 'Terminating', 'n2', '2026-01-01T00:00:00Z');
    expect(made.found()?.message).toBe(
      '1 machine is waiting to be completely drained from pods. If this persists, check your pod disruption budgets and pending finalizers. Please note, that nodes that fail to be drained will be deleted automatically',
    );
    made.machines('a', 1);
    expect(made.found()?.message).toBe(
      'too many worker nodes are registered. Exceeding maximum desired machine count (3/1)',
    );
    made.node('n3', CORDONED);
    made.machine('m-n3', 'Terminating', 'n3', '2026-01-01T00:00:00Z');
    expect(made.found()?.message).toMatch(/^2 machines are waiting to be completely drained/);
  });

  it('Nodes that machine-controller-manager does not manage are not counted', () => {
    const made = world('n1');
    made.node('n2', { annotations: { 'node.machine.sapcloud.io/not-managed-by-mcm': '1' } });
    expect(made.found()).toMatchObject(good);
    made.node('n2', { annotations: { 'node.machine.sapcloud.io/not-managed-by-mcm': '0' } });
    expect(made.found()).toMatchObject({ reason, message: expect.stringMatching(/^too many worker nodes/) });
  });
});

it.each([
  ['seed', `${MACHINES}/Machine`, 'shoot--web--blue', 'Machine in namespace shoot--web--blue of cluster seed'],
  ['seed', `${MACHINES}/MachineDeployment`, undefined, 'MachineDeployment of cluster seed'],
])('in %s, %s cannot be listed', (cluster, kind, namespace, what) => {
  const made = world('n1');
  made.machines('a', 3);
  made.unseen(cluster, kind, namespace);
  const message = `${what} cannot be listed: it is forbidden`;
  expect(made.found()).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError', message });
});
