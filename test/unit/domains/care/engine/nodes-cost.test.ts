import { expect, it } from 'vitest';
import { condition, createShootWithNodes, type NodeDifference } from '../../../../support/shoot-with-nodes.ts';

/** A Shoot with a number of Nodes, all as they should be. */
function shootWith(count: number) {
  const made = createShootWithNodes('[{name: a}, {name: b}]', { seed: true });
  const names = Array.from({ length: count }, (_, at) => `n${at}`);
  for (const [at, name] of names.entries()) {
    made.node(name, { pool: at % 2 === 0 ? 'a' : 'b' });
    made.machine(`m-${name}`, 'Running', name);
  }
  for (const pool of ['a', 'b']) made.config(pool);
  const leases = names.flatMap((name) => [`kube-node-lease/${name}`, `kube-system/gardener-node-agent-${name}`]).sort();
  made.leases(leases);
  made.machines('a', count);
  expect(made.found()?.status).toBe('True');
  return {
    ...made,
    /** Stages the report while these Leases have expired. */
    expire: (...expired: readonly string[]) =>
      made.leases(
        leases.filter((lease) => !expired.includes(lease)),
        expired,
      ),
  };
}

const DIFFERENCES: readonly (readonly [what: string, difference: NodeDifference])[] = [
  ['its health', { conditions: [condition('Ready', 'False')] }],
  ['its kubelet', { version: 'v1.33.1' }],
  ['its config', { annotations: { 'checksum/cloud-config-data': 'c0' } }],
  ['its units', { conditions: [condition('SystemdUnitsReady', 'False')] }],
  ['that it is cordoned', { spec: { unschedulable: true } }],
  ['that it is not managed', { annotations: { 'node.machine.sapcloud.io/not-managed-by-mcm': '1' } }],
];

it('a change of one Node computes as much among 5,000 Nodes as among 20', () => {
  const [few, many] = [shootWith(20), shootWith(5_000)];
  for (const [what, difference] of DIFFERENCES) {
    const computed = [few, many].map((made) => {
      made.node('n4', difference);
      const there = made.engine.commit().computed;
      expect(made.found()?.status, what).not.toBe('True');
      made.node('n4');
      const back = made.engine.commit().computed;
      expect(made.found()?.status, what).toBe('True');
      return { there, back };
    });
    expect(computed[1], what).toEqual(computed[0]);
    expect(computed[0]?.there, what).toBeGreaterThan(0);
  }
});

it('a Lease that expires computes as much among 10,000 Leases as among 40', () => {
  const computed = [shootWith(20), shootWith(5_000)].map((made) => {
    made.expire('kube-system/gardener-node-agent-n4');
    const there = made.engine.commit().computed;
    expect(made.found()?.reason).toBe('NodeAgentUnhealthy');
    made.expire();
    const back = made.engine.commit().computed;
    expect(made.found()?.status).toBe('True');
    return { there, back };
  });
  expect(computed[1]).toEqual(computed[0]);
});
