import type { Engine } from '../../../src/engine/graph.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import type { MakeChecker } from '../checkers/checker.ts';
import type { World } from '../world.ts';
import { expectedRows, type Fleet } from './oracle.ts';

const VIEWS = ['dataplanes', 'services', 'endpoints'] as const;

/** At any time, the views of each server show what it knows then: the last reports, also of clusters that are away. */
export const followsReports: MakeChecker = (world, fail) => ({
  name: 'follows reports',
  stepped: () => {
    for (const { name, engine } of enginesOf(world)) {
      const { inputs, declarations } = engine;
      const clusters = [...inputs.live.partitions()].map(
        (cluster) => [cluster, [...inputs.live.entries(cluster)].map(({ value }) => value.value)] as const,
      );
      const declared = [...declarations.entries('Dataplane')].map(
        ({ value: { value } }): JsonObject => ({
          mesh: value.dataplane.mesh,
          name: value.dataplane.name,
          networking: value.spec.networking,
        }),
      );
      for (const difference of differences(engine, { clusters: new Map(clusters), declared }))
        fail(`${name}: ${difference}`);
    }
  },
});

/** Once everything is quiet, each server shows what is in the clusters and the repositories, and nothing is stale. */
export const showsTheFleet: MakeChecker = (world, fail) => ({
  name: 'shows the fleet',
  atRest: () => {
    for (const difference of fleetDifferences(world)) fail(difference);
  },
});

/** How what servers show differs from the fleet as it is. */
export function fleetDifferences(world: World): readonly string[] {
  const fleet = fleetOf(world);
  return enginesOf(world).flatMap(({ name, engine }) => [
    ...differences(engine, fleet).map((difference) => `${name}: ${difference}`),
    ...rowsOf(engine, 'dataplanes').flatMap((row) => (row.stale === true ? [`${name}: ${row.name} is stale`] : [])),
  ]);
}

/** What is in the clusters and in the repositories. */
export function fleetOf({ agents, repositories }: World): Fleet {
  const docs = repositories.flatMap(({ tree }) => [...tree().values()].flatMap((file) => file.docs));
  return {
    clusters: new Map(agents.map(({ cluster }) => [cluster.name, [...cluster.foreign.values()]])),
    declared: docs.flatMap((doc) =>
      doc.type === 'manifest' && doc.manifest.type === 'Dataplane' ? [doc.manifest] : [],
    ),
  };
}

/** The engines of the servers that run. */
export function enginesOf({ servers }: World): readonly { readonly name: string; readonly engine: Engine }[] {
  return servers.flatMap(({ name, life }) => {
    const engine = life()?.server?.engine;
    return engine === undefined ? [] : [{ name, engine }];
  });
}

/** The rows of a view, without what the oracle leaves open. */
export function rowsOf({ domains }: Engine, view: string): readonly JsonObject[] {
  return domains.flatMap(({ report: { shows } }) => shows?.views?.[view]?.() ?? []);
}

/** The first difference of each view. */
export function differences(engine: Engine, fleet: Fleet): readonly string[] {
  const expected = expectedRows(fleet);
  return VIEWS.flatMap((view) => {
    const [found, wanted] = [rowsOf(engine, view).map(plain), expected[view].map(plain)];
    const at = Array.from({ length: Math.max(found.length, wanted.length) }, (_none, index) => index).find(
      (index) => found[index] !== wanted[index],
    );
    return at === undefined ? [] : [`${view} ${at} is ${found[at]}, not ${wanted[at]}`];
  });
}

/** Without the time of the connection, and without `stale`. */
function plain({ stale: _stale, connection, ...row }: JsonObject): string {
  const state = (connection as { readonly state?: string } | undefined)?.state;
  return JSON.stringify({ ...row, ...(state === undefined ? {} : { state }) });
}
