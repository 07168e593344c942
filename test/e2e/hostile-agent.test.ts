import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createGrpcClientTransport } from '../../src/adapters/grpc/client.ts';
import type { ClusterView } from '../../src/api/server-api.ts';
import type { OutputPosition } from '../../src/model/fleet/output.ts';
import type { StreamEnd } from '../../src/ports/transport.ts';
import { apiFetch } from '../support/api-fetch.ts';
import { enrolled, type Identity, mustEnrol } from '../support/enrolled.ts';
import { type Fleet, startFleet, tokenFor, until } from '../support/fleet-processes.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { describeOnDirectories } from '../support/on-clusters.ts';
import { connectStating, type Hostile } from '../support/stating-agent.ts';

const live = 'ConfigMap/web/a';

describeOnDirectories('a hostile agent', (clusters) => {
  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await startFleet(
      {
        'clusters/east/cluster.yaml': clusterYaml('east'),
        'clusters/west/cluster.yaml': clusterYaml('west'),
        'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
        'apps/a.yaml': configMapYaml('a', 'one'),
      },
      { clusters },
    );
    await fleet.agent('east').start();
    await until('east holds a', () => fleet.live('east', live));
  });
  afterAll(async () => fleet.stop());

  const transport = () =>
    createGrpcClientTransport({
      server: fleet.server.relay(),
      security: { type: 'tls', ca: () => readFileSync(join(fleet.dataDir, 'trust', 'ca.crt')) },
    });
  /** Opens a stream as a cluster, writes bytes, and tells how the server ended it. */
  const attack = async (
    cluster: string,
    { token, identity }: { readonly token?: string; readonly identity?: Identity },
    bytes: readonly Uint8Array[],
  ): Promise<StreamEnd> => {
    const connection = transport().dial(identity === undefined ? undefined : { identity, roots: '' });
    try {
      const stream = connection.open('Pull', {
        'fleetrelay-cluster': cluster,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      });
      for (const each of bytes) await stream.write(each);
      return await stream.ended;
    } finally {
      connection.close();
    }
  };
  const west = (): string => tokenFor('west', fleet.dataDir);
  const westEnrolled = (): Promise<Identity> => mustEnrol(transport(), { cluster: 'west', token: west() });
  const fleetIsWell = async (text: string): Promise<void> => {
    fleet.push({ 'apps/a.yaml': configMapYaml('a', text) });
    await until(`east holds ${text}`, async () => (await fleet.live('east', live))?.includes(text) === true);
  };

  it('with a token alone opens no stream, not even its own', async () => {
    for (const cluster of ['west', 'east', 'unknown']) {
      expect(await attack(cluster, { token: west() }, [])).toMatchObject({
        code: 'unauthenticated',
        reason: 'CertificateNeeded',
      });
    }
    await until('the server says so', () =>
      fleet.server.logs.find((line) => JSON.stringify(line).includes('CertificateNeeded')),
    );
  });

  it('with the name of another cluster and its own token gets no certificate', async () => {
    for (const cluster of ['east', 'unknown']) {
      expect(await enrolled(transport(), { cluster, token: west() })).toMatchObject({
        code: 'unauthenticated',
        reason: 'WrongToken',
      });
    }
    await fleetIsWell('two');
  });

  it('with its own certificate speaks for no other cluster, and for no other id', async () => {
    const identity = await westEnrolled();
    expect(await attack('east', { identity }, [])).toMatchObject({ reason: 'CertificateMismatch' });
    expect(await enrolled(transport(), { cluster: 'east', shown: identity })).toMatchObject({
      reason: 'CertificateMismatch',
    });
    expect(await enrolled(transport(), { cluster: 'west', id: 'another', shown: identity })).toMatchObject({
      reason: 'CertificateMismatch',
    });
  });

  it('with the token of another cluster is refused, as a real agent', async () => {
    const thief = fleet.agent('thief');
    await thief.start({ cluster: 'east', token: 'west' });
    await until('the agent says why', () => thief.logs.find((line) => JSON.stringify(line).includes('WrongToken')));
    expect(await fleet.live('thief', live)).toBeUndefined();
    await thief.kill('SIGKILL');
    await fleetIsWell('three');
  });

  it('that sends nonsense is disconnected, and no other agent is disturbed', async () => {
    expect(await attack('west', { identity: await westEnrolled() }, [Buffer.from('nonsense')])).toMatchObject({
      code: 'invalid',
    });
    await fleetIsWell('four');
  });

  it('that sends too much at once is disconnected, and no other agent is disturbed', async () => {
    const identity = await westEnrolled();
    const end = await attack('west', { identity }, [Buffer.alloc(900 * 1024, 7)]);
    expect(['invalid', 'exhausted']).toContain(end.code);
    const larger = await attack('west', { identity }, [Buffer.alloc(64 * 1024 * 1024, 7)]);
    expect(['exhausted', 'lost']).toContain(larger.code);
    await fleetIsWell('five');
  });

  describe('that states an admission', () => {
    const hostile: Hostile[] = [];
    afterEach(() => {
      for (const { leave } of hostile.splice(0)) leave();
    });
    const states = async (identity: Identity, claim: OutputPosition): Promise<Hostile> => {
      const agent = await connectStating(transport(), identity, claim);
      hostile.push(agent);
      return agent;
    };
    const view = async (cluster: string): Promise<ClusterView | undefined> => {
      const answer = await apiFetch(`${fleet.server.http()}/api/v1/clusters`);
      const { items } = (await answer.json()) as { readonly items: readonly ClusterView[] };
      return items.find(({ name }) => name === cluster);
    };
    const problem = async (cluster: string): Promise<string | undefined> => (await view(cluster))?.problem;
    const restart = async (): Promise<void> => {
      await fleet.server.kill('SIGTERM');
      await fleet.server.start();
      await until('the server is ready', async () => (await fetch(`${fleet.server.metrics()}/readyz`)).ok);
    };

    it('of the last of all numbers is shown out, and the others are served, also after a restart', async () => {
      const identity = await westEnrolled();
      for (const round of ['before', 'after'] as const) {
        if (round === 'after') await restart();
        const { ended } = await states(identity, { epoch: 2 ** 53 - 1, sequence: 2 ** 53 - 1 });
        await fleetIsWell(`last-${round}`);
        expect(await ended).toMatchObject({ code: 'invalid', reason: 'ImplausiblePosition' });
        expect((await view('west'))?.refusal).toMatchObject({
          reason: 'ImplausiblePosition',
          message: expect.stringContaining('more than a day ahead'),
        });
        const said = fleet.server.logs.find(({ reason }) => reason === 'ImplausiblePosition');
        expect(said).toMatchObject({ level: 'warn', cluster: 'west' });
      }
    });

    it('that is plausible is sent nothing when its cluster is known, and the others are served', async () => {
      const identity = await westEnrolled();
      const first = await states(identity, { epoch: 0, sequence: 0 });
      await until('west is known', async () => (await problem('west')) === '');
      first.leave();
      for (const round of ['before', 'after'] as const) {
        if (round === 'after') await restart();
        await states(identity, { epoch: Date.now() + 60 * 60_000, sequence: 7 });
        await until('the condition of west says why', async () =>
          (await problem('west'))?.startsWith('ServerBehind: '),
        );
        await fleetIsWell(`plausible-${round}`);
        expect(await problem('east')).toBe('');
      }
    });
  });

  it('leaves the server with little memory in use', async () => {
    const metrics = await (await fetch(`${fleet.server.metrics()}/metrics`)).text();
    const resident = Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1]);
    expect(resident).toBeLessThan(1024 * 1024 * 1024);
  });
});
