import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGrpcClientTransport } from '../../src/adapters/grpc/client.ts';
import type { StreamEnd } from '../../src/ports/transport.ts';
import { enrolled, type Identity, mustEnrol } from '../support/enrolled.ts';
import { type Fleet, startFleet, tokenFor, until } from '../support/fleet-processes.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { describeOnClusters } from '../support/on-clusters.ts';

const live = 'ConfigMap/web/a';

describeOnClusters('a hostile agent', (clusters) => {
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
    for (const cluster of ['west', 'east', 'nobody']) {
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
    for (const cluster of ['east', 'nobody']) {
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

  it('that speaks nonsense is shown out, and nobody else notices', async () => {
    expect(await attack('west', { identity: await westEnrolled() }, [Buffer.from('nonsense')])).toMatchObject({
      code: 'invalid',
    });
    await fleetIsWell('four');
  });

  it('that sends too much at once is shown out, and nobody else notices', async () => {
    const identity = await westEnrolled();
    const end = await attack('west', { identity }, [Buffer.alloc(900 * 1024, 7)]);
    expect(['invalid', 'exhausted']).toContain(end.code);
    const larger = await attack('west', { identity }, [Buffer.alloc(64 * 1024 * 1024, 7)]);
    expect(['exhausted', 'lost']).toContain(larger.code);
    await fleetIsWell('five');
  });

  it('leaves the server with little memory in use', async () => {
    const metrics = await (await fetch(`${fleet.server.metrics()}/metrics`)).text();
    const resident = Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1]);
    expect(resident).toBeLessThan(1024 * 1024 * 1024);
  });
});
