import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGrpcClientTransport } from '../../src/adapters/grpc/client.ts';
import type { StreamEnd } from '../../src/ports/transport.ts';
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

  /** Opens a stream as a cluster, writes bytes, and tells how the server ended it. */
  const attack = async (cluster: string, token: string, bytes: readonly Uint8Array[]): Promise<StreamEnd> => {
    const ca = (): Uint8Array => readFileSync(join(fleet.dataDir, 'trust', 'ca.crt'));
    const connection = createGrpcClientTransport({
      server: fleet.server.relay(),
      security: { type: 'tls', ca },
    }).dial();
    try {
      const stream = connection.open('Pull', { 'fleetrelay-cluster': cluster, authorization: `Bearer ${token}` });
      for (const each of bytes) await stream.write(each);
      return await stream.ended;
    } finally {
      connection.close();
    }
  };
  const west = (): string => tokenFor('west', fleet.dataDir);
  const fleetIsWell = async (text: string): Promise<void> => {
    fleet.push({ 'apps/a.yaml': configMapYaml('a', text) });
    await until(`east holds ${text}`, async () => (await fleet.live('east', live))?.includes(text) === true);
  };

  it('with the name of another cluster and its own token learns nothing', async () => {
    expect(await attack('east', west(), [])).toMatchObject({ code: 'unauthenticated', reason: 'WrongToken' });
    expect(await attack('nobody', west(), [])).toMatchObject({ code: 'unauthenticated', reason: 'WrongToken' });
    await until('the server says so', () =>
      fleet.server.logs.find((line) => JSON.stringify(line).includes('WrongToken')),
    );
    await fleetIsWell('two');
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
    expect(await attack('west', west(), [Buffer.from('nonsense')])).toMatchObject({ code: 'invalid' });
    await fleetIsWell('four');
  });

  it('that sends too much at once is shown out, and nobody else notices', async () => {
    const end = await attack('west', west(), [Buffer.alloc(900 * 1024, 7)]);
    expect(['invalid', 'exhausted']).toContain(end.code);
    const larger = await attack('west', west(), [Buffer.alloc(64 * 1024 * 1024, 7)]);
    expect(['exhausted', 'lost']).toContain(larger.code);
    await fleetIsWell('five');
  });

  it('leaves the server with little memory in use', async () => {
    const metrics = await (await fetch(`${fleet.server.http()}/metrics`)).text();
    const resident = Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1]);
    expect(resident).toBeLessThan(1024 * 1024 * 1024);
  });
});
