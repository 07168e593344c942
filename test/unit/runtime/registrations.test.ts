import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentHello } from '../../../src/model/agent/agent.ts';
import { parseClusterId, parseClusterName } from '../../../src/model/fleet/ids.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { must } from '../../../src/model/values/result.ts';
import type { HelloDecision, RegistrationRequest } from '../../../src/relay/session.ts';
import { createFleetWorld } from '../../support/fleet-world.ts';
import { base, startedWorld } from '../../support/started-world.ts';
import { keysOf } from '../../support/stored-maps.ts';

type World = Awaited<ReturnType<typeof createFleetWorld>>;

let world: World;

beforeEach(async () => {
  world = await startedWorld();
});

/** Asks for a certificate; `id`: if left out, the one of the cluster's agent. */
function ask(cluster: string, proof: RegistrationRequest['proof'], id = `id-${cluster}`): HelloDecision {
  const request = {
    cluster: must(parseClusterName(cluster)),
    clusterId: must(parseClusterId(id)),
    proof,
    key: 'ab'.repeat(32),
  };
  return world.agent(cluster).dial().mayRegister(request);
}

describe('the version of Kubernetes of a cluster', () => {
  const version = () => world.server.api.clusters().find(({ name }) => name === 'east')?.kubernetesVersion;
  const reconnect = (hello: Partial<AgentHello>) => {
    world.agent('east').disconnect();
    world.agent('east').connect(hello);
  };

  it('is the one that its agent has reported last, also while the agent is away', () => {
    expect(version()).toBeNull();
    reconnect({ kubernetesVersion: 'v1.35.4' });
    expect(version()).toBe('v1.35.4');
    reconnect({ kubernetesVersion: 'v1.36.3' });
    world.agent('east').disconnect();
    expect(version()).toBe('v1.36.3');
  });

  it('is not known when its agent reports none any more', () => {
    reconnect({ kubernetesVersion: 'v1.35.4' });
    reconnect({});
    expect(version()).toBeNull();
  });
});

describe('an agent that asks for a certificate', () => {
  it('is a cluster that is declared, by its own token, again and again', () => {
    expect(ask('east', 'token')).toEqual({ type: 'admitted', registration: 0, isBound: true });
    expect(ask('east', 'token')).toEqual({ type: 'admitted', registration: 0, isBound: true });
    expect(ask('east', 'certificate')).toEqual({ type: 'admitted', registration: 0, isBound: true });
  });

  it('gets none for another cluster id than the bound one, with any proof', () => {
    for (const proof of ['token', 'shared', 'certificate'] as const) {
      expect(ask('east', proof, 'another-id')).toMatchObject({ type: 'refused', reason: 'ClusterIdBound' });
    }
  });

  it('gets none by the shared token once the name is bound, even with the bound cluster id', () => {
    expect(ask('east', 'shared')).toMatchObject({ type: 'refused', reason: 'SharedTokenBound' });
  });

  it('gets one by the shared token for a new name, until an agent of that name has connected', async () => {
    world = await createFleetWorld();
    world.source.push(base);
    await world.settle();
    expect(ask('east', 'shared', 'one-id')).toEqual({ type: 'admitted', registration: 0 });
    expect(ask('east', 'shared', 'other-id')).toEqual({ type: 'admitted', registration: 0 });
    world.agent('east').connect();
    await world.settle();
    expect(ask('east', 'shared')).toMatchObject({ reason: 'SharedTokenBound' });
  });

  it('gets one by the shared token for another cluster id, and none for the old one, when a person has released the name', async () => {
    await world.server.api.replaceCluster('east', 'test');
    expect(ask('east', 'shared', 'another-id')).toEqual({ type: 'admitted', registration: 0 });
    expect(ask('east', 'token')).toMatchObject({ type: 'refused', reason: 'ClusterReplaced' });
  });

  it('gets none for a name that no source declares', () => {
    expect(ask('unknown', 'token', 'some-id')).toMatchObject({ type: 'refused', reason: 'UnknownCluster' });
  });

  it('must retry before every source has been read', async () => {
    world = await createFleetWorld();
    expect(ask('east', 'token', 'some-id')).toMatchObject({ type: 'retry', reason: 'ServerStarting' });
  });
});

describe('after the store has lost how many registrations of a name are over', () => {
  /** Shows the certificate of the registration of this number. */
  function show(hello: AgentHello, registration: number): HelloDecision {
    // A clock that is ahead has issued it.
    const certificate = { issuedAt: world.clock.now() + 60_000, expiresAt: Number.MAX_SAFE_INTEGER, serial: '01' };
    return world
      .agent('east')
      .dial()
      .admit(hello, { ...certificate, registration });
  }

  it.each(['and its registration', 'only'])(
    'a certificate that counts tells it again (lost: that %s)',
    async (lost) => {
      const hello = world.agent('east').hello();
      if (lost !== 'only') {
        world = await createFleetWorld();
        world.source.push(base);
        await world.settle();
      }
      expect(show(hello, 1).type).toBe('admitted');
      world.agent('east').connect({ instance: hello.instance });
      await world.settle();
      expect(ask('east', 'token')).toEqual({ type: 'admitted', registration: 1, isBound: true });
      world.source.push({ 'clusters/east/cluster.yaml': null });
      await world.settle();
      world.source.push({ 'clusters/east/cluster.yaml': base['clusters/east/cluster.yaml'] });
      await world.settle();
      expect(show(hello, 1)).toMatchObject({ type: 'unproven', reason: 'CertificateRevoked' });
      expect(ask('east', 'token')).toEqual({ type: 'admitted', registration: 2 });
      expect(show(hello, 2).type).toBe('admitted');
    },
  );
});

describe('a cluster that is deregistered', () => {
  it('has no result any more that its agent reports before its session ends', async () => {
    const cluster = must(parseClusterName('east'));
    world.source.push({ 'clusters/east/cluster.yaml': null });
    await world.settle();
    const { inputs } = world.server.engine;
    const [entry] = inputs.ledger.entries(cluster);
    if (entry === undefined) throw new Error('the ledger has no entry');
    const result = { key: entry.key as ObjectKey, digest: entry.value.digest, state: 'applied' } as const;
    world.agents.listener?.results(cluster, [{ ...result, reason: 'Applied', message: '' }]);
    await world.settle();
    expect(inputs.results.size(cluster)).toBe(0);
    expect(await keysOf(world.store, 'clusters/east/results')).toEqual([]);
  });
});
