import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type JsonValue, objectsOf, textsOf } from '../../../src/model/text/json.ts';
import { until } from '../../support/fleet-processes.ts';
import { type KubernetesTestCluster, openKubernetesPool } from '../../support/kubernetes/clusters.ts';
import { isLong } from '../../support/long.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { noProgram } from '../../support/programs.ts';
import { type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
import { changed, exportService, mirrored, sceneContents, sceneFiles, setScene } from '../../support/relay-scene.ts';

const names = ['east', 'west'];
const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const SERVICE = { kind: '/Service', resource: 'services' };
const SLICE = { kind: 'discovery.k8s.io/EndpointSlice', resource: 'endpointslices' };

describe.skipIf(noProgram('kube-apiserver', 'redis-server'))(
  "an agent's right to list what is mirrored is taken away",
  () => {
    const taken: KubernetesTestCluster[] = [];
    const pool = openKubernetesPool();
    let fleet: RelayFleet;
    let give = async (): Promise<void> => undefined;
    let generation = 1;
    let value = 'one';

    beforeAll(async () => {
      const take = async (folder: string): Promise<KubernetesTestCluster> => {
        const cluster = await pool.take(folder);
        taken.push(cluster);
        return cluster;
      };
      fleet = await startRelayFleet({ clusters: { ...pool, take }, names, files: sceneFiles(names), replicas: 1 });
      await fleet.cluster('east');
      await setScene(fleet, names);
    });
    afterEach(() => give());
    afterAll(async () => {
      await fleet?.stop();
      await pool.stop();
    });

    const east = (): KubernetesTestCluster => {
      const [first] = taken;
      if (first === undefined) throw new Error('east was not taken');
      return first;
    };
    const now = () => {
      const maps = { 'ConfigMap/web/a': value };
      return changed(sceneContents(names), {
        east: maps,
        west: { ...maps, ...mirrored('east', 'shop', `10.1.0.${generation}`) },
      });
    };
    const discovered = async (): Promise<string> => {
      const seen = (await fleet.status()).clusters.find(({ name }) => name === 'east');
      const found = seen?.conditions.find(({ type }) => type === 'Discovered');
      return found === undefined ? '' : `${found.status} ${found.reason} ${found.message}`;
    };

    const cases = (isLong ? [[SERVICE], [SLICE]] : [[SERVICE, SLICE]]).flatMap((kinds) =>
      ['while the agent runs', 'and the agent starts anew'].map((how) => ({
        kinds,
        how,
        what: kinds.map(({ resource }) => resource).join(' and '),
      })),
    );

    it.each(cases)(
      '$what, $how: no mirror goes or changes, and all goes on when it is back',
      async ({ kinds, how }) => {
        const before = await fleet.versions();
        const restored = await withoutList(
          east(),
          kinds.map(({ resource }) => resource),
        );
        give = async () => {
          give = async () => undefined;
          await restored();
        };
        if (how === 'while the agent runs') {
          // Who watches is not asked again before the watch ends.
          await (await east().takeAway())();
        } else {
          await fleet.agent('east').kill('SIGKILL');
          await fleet.agent('east').start();
        }
        const unknown = kinds.map(({ kind }) => kind);
        await until(
          `status says that ${unknown} are unknown`,
          async () => {
            const said = await discovered();
            const others = [SERVICE, SLICE].filter(({ kind }) => !unknown.includes(kind));
            return (
              said.startsWith('False KindsUnknown') &&
              unknown.every((kind) => new RegExp(`${kind} cannot be listed: [^;]*forbidden`).test(said)) &&
              others.every(({ kind }) => !said.includes(`${kind} cannot be listed`))
            );
          },
          60_000,
        );

        // What people do there now is not seen, be it that all is gone.
        if (kinds.includes(SERVICE)) await east().remove('Service/web/shop');
        if (kinds.includes(SLICE)) await east().remove('EndpointSlice.discovery.k8s.io/web/shop-1');
        value = `${value}+`;
        fleet.push({ 'apps/a.yaml': configMapYaml('a', value) });
        await fleet.holds(now());
        const meanwhile = await fleet.versions();
        for (const name of names) {
          const { 'ConfigMap/web/a': _, ...rest } = before[name] ?? {};
          expect(meanwhile[name]).toMatchObject(rest);
        }

        generation += 1;
        await exportService(fleet, 'east', 'shop', [`10.1.0.${generation}`]);
        await give();
        await fleet.holds(now());
        await until('nothing is unknown any more', async () => (await discovered()) === '', 60_000);
        expect((await fleet.versions()).east).toEqual(meanwhile.east);
      },
    );
  },
);

/** Takes the verbs `list` and `watch` of these resources out of all that the agent is bound to; gives what undoes it. */
async function withoutList({ api }: KubernetesTestCluster, resources: readonly string[]): Promise<() => Promise<void>> {
  const { status, body } = await api.send('GET', ROLES);
  if (status !== 200) throw new Error(`the roles cannot be read: ${status}`);
  const roles: { readonly metadata: { readonly name: string }; readonly rules: JsonValue }[] = body.items.filter(
    ({ metadata }: { metadata: { name: string } }) => metadata.name.startsWith('fleetrelay-'),
  );
  const put = async (name: string, rules: readonly unknown[]): Promise<void> => {
    const answer = await api.send('PATCH', `${ROLES}/${name}`, { rules }, 'application/merge-patch+json');
    if (answer.status !== 200) throw new Error(`${name} cannot be changed: ${answer.status}`);
  };
  const originals = roles.map(({ metadata, rules }) => ({
    name: metadata.name,
    rules: objectsOf(rules),
  }));
  for (const { name, rules } of originals) {
    const narrowed = rules.flatMap((rule) => {
      const all = textsOf(rule.resources);
      const hit = all.filter((one) => resources.includes(one));
      if (hit.length === 0) return [rule];
      const rest = all.filter((one) => !resources.includes(one));
      const verbs = textsOf(rule.verbs).filter((verb) => verb !== 'list' && verb !== 'watch');
      return [...(rest.length === 0 ? [] : [{ ...rule, resources: rest }]), { ...rule, resources: hit, verbs }];
    });
    await put(name, narrowed);
  }
  return async () => {
    for (const { name, rules } of originals) await put(name, rules);
  };
}
