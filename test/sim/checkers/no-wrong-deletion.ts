import type { SequencedDelta } from '../../../src/model/fleet/output.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { declares, type Vector, type Wanted, wantedBy } from '../oracle.ts';
import type { SimCluster } from '../ports/cluster.ts';
import { followAdmitted } from './admitted.ts';
import { isHostile, type MakeChecker } from './checker.ts';

/**
 * An object goes only if a delta names it, and a delta names it only if the revisions that it comes from really do not
 * want it there: they were all admitted, the sources that gave it are completely known, and the cluster is declared. A hostile
 * agent may remove what it likes in its own cluster.
 */
export const noWrongDeletion: MakeChecker = (world, fail) => {
  const admitted = followAdmitted(world);
  /** By cluster: what a delta has named, and until when the agent may ask for it: one it has taken may call it off. */
  const mayGo = new Map<SimCluster, Map<ObjectKey, number>>();
  /** By cluster and key: the sources that wanted it, when a delta that the cluster has taken was computed. */
  const claims = new Map<SimCluster, Map<string, Set<string>>>();

  const judge = (cluster: SimCluster, { removals, revisions, upserts }: SequencedDelta): void => {
    const id = revisions.map(({ source, revision }) => `${source} ${revision.slice(0, 8)}`).join();
    const vector = admitted.vector(revisions);
    if (vector === undefined) {
      fail(`a delta for ${cluster.name} comes from revisions that no server admitted: ${id}`);
      return;
    }
    const wanted = wantedBy(vector);
    const here = wanted.clusters.get(cluster.name);
    // The declaration of a cluster that is missing from an incompletely known source holds as last known good.
    const isDeclared = here !== undefined || wanted.doubtful.size > 0;
    if (removals.length > 0 && !isDeclared) fail(`${cluster.name} is not declared, and something is removed there`);
    for (const key of removals) {
      const claimants = claims.get(cluster)?.get(key) ?? new Set();
      const wrong =
        here?.has(key) === true ? 'it is wanted there' : whyDoubtful(vector, wanted, cluster, key, claimants);
      if (wrong !== undefined) fail(`${key} is removed in ${cluster.name} at ${id}: ${wrong}`);
    }
    if (wanted.doubtful.size > 0) return;
    for (const { key } of upserts) {
      if (here?.has(key) !== true) fail(`${key} comes to ${cluster.name}, and ${id} does not want it there`);
    }
  };

  world.listen((event) => {
    if ('cluster' in event && isHostile(world, event.cluster)) return;
    if (event.type === 'offered') {
      judge(event.cluster, event.delta);
      const named = mayGo.get(event.cluster) ?? new Map();
      mayGo.set(event.cluster, named);
      for (const key of event.delta.removals) named.set(key, Number.POSITIVE_INFINITY);
    }
    if (event.type === 'taken') {
      const vector = admitted.vector(event.delta.revisions);
      const known = claims.get(event.cluster) ?? new Map<string, Set<string>>();
      claims.set(event.cluster, known);
      const kept = new Set<string>(event.delta.keeps.map(({ key }) => key));
      if (vector !== undefined) noteClaims(known, vector, event.cluster.name, kept);
      const named = mayGo.get(event.cluster);
      for (const { key } of [...event.delta.upserts, ...event.delta.keeps]) {
        const until = named?.get(key);
        if (until !== undefined) named?.set(key, Math.min(until, world.time.elapsed()));
      }
    }
    if (event.type === 'wrote' && event.write.type === 'removed') {
      const { cluster, write } = event;
      // What is under way in a slow cluster when it is called off arrives; the agent makes it again.
      const until = mayGo.get(cluster)?.get(write.key);
      if (until === undefined || write.asked > until) {
        fail(`${write.key} was removed in ${cluster.name}, and no delta named it`);
      }
    }
  });
  return { name: 'no wrong deletion' };
};

/**
 * A source that declares the object has a claim to it until the source is completely known and omits it. A kept object
 * (`kept`) stays as its cluster remembers it, with the sources that wanted it.
 */
function noteClaims(
  claims: Map<string, Set<string>>,
  vector: Vector,
  cluster: string,
  kept: ReadonlySet<string>,
): void {
  const { clusters, doubtful } = wantedBy(vector);
  for (const sources of claims.values()) {
    for (const source of sources) if (!doubtful.has(source)) sources.delete(source);
  }
  for (const [key, wishes] of clusters.get(cluster) ?? []) {
    if (kept.has(key)) continue;
    const sources = claims.get(key) ?? new Set<string>();
    claims.set(key, sources);
    for (const { source } of wishes) sources.add(source);
  }
}

/**
 * The sources of the object, as its cluster remembers them, must be completely known; while one still declares it,
 * every source must be, because the rule that placed it may be in any of them.
 */
function whyDoubtful(
  vector: Vector,
  { doubtful }: Wanted,
  cluster: SimCluster,
  key: ObjectKey,
  claimants: ReadonlySet<string>,
): string | undefined {
  for (const source of claimants) {
    if (doubtful.has(source)) return `${source} wanted it as well, and is not completely known`;
  }
  const origins = cluster.memory.inventory.current?.records.get(key)?.origins ?? [];
  for (const origin of origins) {
    if (doubtful.has(origin.source)) return `its source ${origin.source} is not completely known`;
    if (doubtful.size > 0 && declares(vector, origin, key)) {
      return `${origin.source}:${origin.path} still declares it, and what placed it may be unreadable`;
    }
  }
  return undefined;
}
