import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectOf, objectsOf } from '../../src/model/text/json.ts';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml, configMapYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';
import { type RedisProcess, startRedis } from '../support/redis.ts';

const files = {
  'clusters/blue/cluster.yaml': clusterYaml('blue'),
  'clusters/blue/a.yaml': configMapYaml('a', 'one'),
  'fleet/policy.yaml': `apiVersion: fleetrelay.dev/v1alpha1
kind: FleetPolicy
metadata: { name: fleet }
spec: { care: { conditionThresholds: [{ type: APIServerAvailable, duration: 10m }] } }
`,
  'fleet/shoot.yaml': `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: { name: blue, namespace: garden-web }
spec: { purpose: production, kubernetes: { version: 1.33.2 }, provider: { type: local } }
`,
};
const probe: JsonObject = {
  ...{ apiVersion: 'internal.fleetrelay.dev/v1', kind: 'ApiServerProbe', metadata: { name: 'healthz' } },
  status: { code: 503, body: 'shutting down', responseMillis: 7 },
};

describe.skipIf(noProgram('redis-server'))('the status of a Shoot whose server loses its store', () => {
  let redis: RedisProcess;
  let fleet: Fleet;
  const status = (): JsonObject =>
    objectOf(objectOf(fleet.statusFile('shoots/garden-web/blue.yaml') as JsonObject | undefined).status);
  const isSo = (what: string, look: (status: JsonObject) => boolean): Promise<JsonObject> =>
    until(what, () => (look(status()) ? status() : undefined)).catch((error: unknown) => {
      throw new Error(`${String(error)}; it is ${JSON.stringify(status())}`);
    });
  const available = (of: JsonObject): JsonObject =>
    objectOf(objectsOf(of.conditions).find(({ type }) => type === 'APIServerAvailable'));
  /** The operation that the push of this object begins has ended. */
  const applies = async (name: string, before: JsonObject): Promise<JsonObject> => {
    fleet.push({ [`clusters/blue/${name}.yaml`]: configMapYaml(name, 'one') });
    await until(`${name} is there`, () => fleet.live('blue', `ConfigMap/web/${name}`));
    return isSo('another operation has succeeded', ({ lastOperation }) => {
      const { state, lastUpdateTime } = objectOf(lastOperation);
      return state === 'Succeeded' && lastUpdateTime !== objectOf(before.lastOperation).lastUpdateTime;
    });
  };
  const withoutOperation = ({ lastOperation: _, ...rest }: JsonObject): JsonObject => rest;

  beforeAll(async () => {
    redis = await startRedis();
    fleet = await startFleet(files, { serve: ['--store', `redis://127.0.0.1:${redis.port}`] });
    await fleet.agent('blue').start();
    await isSo('it is created and well', (now) => {
      return objectOf(now.lastOperation).state === 'Succeeded' && available(now).status === 'True';
    });
    await (await fleet.cluster('blue')).put(probe);
  });
  afterAll(async () => {
    await fleet?.stop();
    await redis?.stop();
  });

  it('keeps all times when the store is emptied under it, and goes on', async () => {
    const before = await isSo('the failure is shown', (now) => available(now).status === 'Progressing');
    await redis.command('FLUSHALL');
    const after = await applies('b', before);
    expect(withoutOperation(after)).toEqual(withoutOperation(before));
  });

  it('keeps all times when the store is empty at a start', async () => {
    const before = status();
    await fleet.server.kill('SIGKILL');
    await redis.command('FLUSHALL');
    await fleet.server.start();
    await until('the agent is back', async () => (await fleet.status()).clusters[0]?.connected === true);
    const after = await applies('c', before);
    expect(withoutOperation(after)).toEqual(withoutOperation(before));
    expect(available(after)).toMatchObject({ status: 'Progressing', reason: 'HealthzRequestError' });
  });
});
