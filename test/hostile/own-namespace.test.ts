import { describe, expect, it } from 'vitest';
import type { AgentHello } from '../../src/model/agent/agent.ts';
import { createFleetWorld, type FleetWorld } from '../support/fleet-world.ts';
import { configMapYaml } from '../support/manifests.ts';
import { abc, base, names, restart } from '../support/started-world.ts';

const NAMESPACE = '/Namespace//fleetrelay';
const AGENT = 'apps/Deployment/fleetrelay/fleetrelay-agent';
/** A commit that stops the agents, and that they could never undo. */
const bricks = {
  'apps/namespace.yaml':
    'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: fleetrelay\n  annotations: {fleetrelay.dev/paused: "true", fleetrelay.dev/adopt: "true"}\n',
  'apps/agent.yaml':
    'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: fleetrelay-agent\n  namespace: fleetrelay\n  annotations: {fleetrelay.dev/adopt: "true"}\nspec:\n  replicas: 0\n  selector: {matchLabels: {app: a}}\n  template:\n    metadata: {labels: {app: a}}\n    spec: {containers: [{name: a, image: a}]}\n',
};
const refusing: Partial<AgentHello> = { ownNamespace: 'fleetrelay' };

async function worldWith(files: Readonly<Record<string, string>>, east: Partial<AgentHello>): Promise<FleetWorld> {
  const world = await createFleetWorld();
  world.source.push(files);
  world.agent('east').connect(east);
  world.agent('west').connect({ ownNamespace: 'other' });
  await world.settle();
  return world;
}

/** What the server says of an object in a cluster: state and reason. */
function said(world: FleetWorld, cluster: string, key: string): string | undefined {
  const progress = world.server.engine.progress.get(cluster, key);
  return progress && `${progress.state} ${progress.reason}`;
}

describe('a commit that declares objects in the namespace of an agent', () => {
  it('is refused for those objects alone, with the reason, and costs no other cluster anything', async () => {
    const world = await worldWith({ ...base, ...bricks }, refusing);
    expect(names(world, 'east')).toEqual(abc);
    expect([said(world, 'east', NAMESPACE), said(world, 'east', AGENT)]).toEqual([
      'held OwnNamespace',
      'held OwnNamespace',
    ]);
    expect(world.server.engine.progress.get('east', AGENT)?.message).toMatch(/--allow-own-namespace/);
    expect(names(world, 'west')).toEqual([...abc, NAMESPACE, AGENT].sort());
    world.source.push({ 'apps/d.yaml': configMapYaml('d', '1') });
    await world.settle();
    expect(names(world, 'east')).toEqual([...abc, '/ConfigMap/web/d']);
  });

  it('is refused also by a restarted server, before the agent has connected again', async () => {
    const before = await worldWith(base, refusing);
    const world = await restart(before);
    world.source.push({ ...base, ...bricks });
    await world.settle();
    expect(said(world, 'east', NAMESPACE)).toBe('held OwnNamespace');
  });

  it('takes effect where the agent allows it, and leaves what it has made when the agent allows it no more', async () => {
    const world = await worldWith({ ...base, ...bricks }, {});
    expect(names(world, 'east')).toEqual([...abc, NAMESPACE, AGENT].sort());
    const sent = world.agent('east').deltas.length;
    world.agent('east').disconnect();
    world.agent('east').connect(refusing);
    await world.settle();
    expect(said(world, 'east', NAMESPACE)).toBe('kept OwnNamespace');
    expect(names(world, 'east')).toEqual([...abc, NAMESPACE, AGENT].sort());
    expect(
      world
        .agent('east')
        .deltas.slice(sent)
        .flatMap(({ removals, upserts }) => [...removals, ...upserts]),
    ).toEqual([]);
  });
});
