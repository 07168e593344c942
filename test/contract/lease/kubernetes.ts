import { describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createKubernetesLease } from '../../../src/adapters/kubernetes/lease.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import type { Lease } from '../../../src/ports/lease.ts';
import { createFaultyClient } from '../../support/kubernetes/faulty-client.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';
import { DURATION_MS, leaseContract } from './suite.ts';

interface Home {
  readonly client: KubeClient;
  readonly namespace: string;
}

const NAME = 'fleetrelay-agent';

/** What a lease on an API server must do, on whatever API server. `make` gives a namespace without leases. */
export function kubernetesLeaseContract(name: string, make: () => Promise<Home>): void {
  const leaseOf =
    ({ client, namespace }: Home) =>
    (identity: string, clock: VirtualClock): Lease =>
      createKubernetesLease({ client, clock }, { namespace, name: NAME, identity });
  leaseContract(name, async () => leaseOf(await make()), { ownClocks: true });

  describe(`${name}: what a Lease says`, () => {
    const read = async ({ client, namespace }: Home): Promise<JsonObject> => {
      const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${NAME}`;
      const answer = await client.request({ method: 'GET', path });
      if (answer.type !== 'ok') throw new Error(JSON.stringify(answer));
      return answer.body;
    };

    test('holder, times and transitions are as client-go writes them', async () => {
      const home = await make();
      const clock = createVirtualClock();
      const [a, b] = [leaseOf(home)('a', clock), leaseOf(home)('b', clock)];
      await a.acquire();
      const acquireTime = '2026-01-01T00:00:00.000000Z';
      const common = { holderIdentity: 'a', leaseDurationSeconds: 9, acquireTime, leaseTransitions: 0 };
      expect((await read(home)).spec).toEqual({ ...common, renewTime: acquireTime });
      await clock.advance(1_500);
      await a.acquire();
      expect((await read(home)).spec).toEqual({ ...common, renewTime: '2026-01-01T00:00:01.500000Z' });
      await a.release();
      expect((await read(home)).spec).toMatchObject({ leaseDurationSeconds: 1, leaseTransitions: 0 });
      expect((await read(home)).spec).not.toMatchObject({ holderIdentity: 'a' });
      await b.acquire();
      expect((await read(home)).spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    });

    test('the deadline counts from before the request, and an answer after it does not count', async () => {
      const home = await make();
      const clock = createVirtualClock();
      let slowness = 3_000;
      const slow: KubeClient = {
        ...home.client,
        request: async (request) => {
          if (request.method !== 'GET') await clock.advance(slowness);
          return home.client.request(request);
        },
      };
      const lease = createKubernetesLease(
        { client: slow, clock },
        { namespace: home.namespace, name: NAME, identity: 'a' },
      );
      const held = await lease.acquire();
      expect(held).toEqual({ type: 'held', deadline: 6_000 });
      slowness = 6_001;
      expect(await lease.acquire()).toMatchObject({ type: 'failed' });
    });

    test('an answer that was lost is no loss: the next attempt finds its own name', async () => {
      const home = await make();
      const clock = createVirtualClock();
      const faulty = createFaultyClient(home.client);
      const lease = createKubernetesLease(
        { client: faulty, clock },
        { namespace: home.namespace, name: NAME, identity: 'a' },
      );
      faulty.fail(({ method }) => (method === 'GET' ? 'none' : 'lost'));
      expect(await lease.acquire()).toMatchObject({ type: 'failed', message: expect.stringContaining('lost') });
      faulty.fail(() => 'none');
      expect(await lease.acquire()).toMatchObject({ type: 'held' });
      faulty.fail(() => 'dropped');
      expect(await lease.acquire()).toMatchObject({ type: 'failed' });
      await lease.release();
    });

    test('removing the object ends no term', async () => {
      const home = await make();
      const clock = createVirtualClock();
      const [a, b] = [leaseOf(home)('a', clock), leaseOf(home)('b', clock)];
      await a.acquire();
      await b.acquire();
      const path = `/apis/coordination.k8s.io/v1/namespaces/${home.namespace}/leases/${NAME}`;
      expect((await home.client.request({ method: 'DELETE', path })).type).toBe('ok');
      expect(await b.acquire()).toEqual({ type: 'taken', holder: 'a' });
      expect(await a.acquire()).toMatchObject({ type: 'held' });
      expect((await home.client.request({ method: 'DELETE', path })).type).toBe('ok');
      await clock.advance(DURATION_MS);
      expect(await b.acquire()).toMatchObject({ type: 'held' });
    });

    test('its holder sets its duration; fields of others stay', async () => {
      const home = await make();
      const clock = createVirtualClock();
      const b = leaseOf(home)('b', clock);
      const long = createKubernetesLease(
        { client: home.client, clock },
        { namespace: home.namespace, name: NAME, identity: 'a', durationMs: 60_000 },
      );
      await long.acquire();
      const path = `/apis/coordination.k8s.io/v1/namespaces/${home.namespace}/leases/${NAME}`;
      const lease = await read(home);
      const labelled = { ...lease, metadata: { ...(lease.metadata as JsonObject), labels: { theirs: 'yes' } } };
      expect((await home.client.request({ method: 'PUT', path, body: labelled })).type).toBe('ok');
      expect(await b.acquire()).toEqual({ type: 'taken', holder: 'a' });
      await clock.advance(59_999);
      expect(await b.acquire()).toEqual({ type: 'taken', holder: 'a' });
      await clock.advance(1);
      expect(await b.acquire()).toMatchObject({ type: 'held' });
      expect((await read(home)).metadata).toMatchObject({ labels: { theirs: 'yes' } });
    });

    test('a namespace that is not there: it says how to make it', async () => {
      const { client } = await make();
      const lease = leaseOf({ client, namespace: 'not-there' })('a', createVirtualClock());
      expect(await lease.acquire()).toMatchObject({
        type: 'failed',
        message: expect.stringContaining('kubectl create namespace not-there'),
      });
      await lease.release();
    });
  });
}
