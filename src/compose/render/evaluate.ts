import { withoutStamp } from '../../adapters/directory/stamp.ts';
import type { Engine } from '../../engine/graph.ts';
import type { ObjectDecision } from '../../engine/output/decisions.ts';
import { readObserved } from '../../model/conditions.ts';
import { objectDigest } from '../../model/digest.ts';
import { defaultFleetPolicy } from '../../model/fleet-policy.ts';
import type { Digest } from '../../model/ids.ts';
import { isJsonObject } from '../../model/json.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import { trustedStatus } from '../../runtime/status/status-documents.ts';
import { agentSettings } from '../../sinks/agents/settings.ts';
import { openEvaluation } from '../evaluate.ts';
import type { Checkout } from '../read-checkout.ts';
import { discover, type RecordedCluster } from './recorded-clusters.ts';
import type { StatusFolder } from './status-folder.ts';

/**
 * Computes what the engine makes of a checkout and of recorded clusters. Every recorded cluster counts as connected, and
 * an object counts as applied that lies in its cluster as it is declared.
 *
 * @param at whole seconds since 1970: deadlines up to then have passed
 * @param written the status that was written last
 */
export function evaluate(
  checkout: Checkout,
  clusters: readonly RecordedCluster[],
  at: number,
  written: StatusFolder = () => undefined,
): Engine {
  const engine = openEvaluation(checkout);
  const lying = new Map(clusters.map((cluster) => [cluster.name, digestsOf(cluster)]));
  if (clusters.length > 0) {
    // The repository says what agents report.
    engine.commit();
    for (const cluster of clusters) stageCluster(engine, cluster, at);
  }
  // It ends: each round but the last one counts another object as applied, a later moment as passed, or reads a status.
  for (let hasMore = true; hasMore; ) {
    engine.commit();
    // What was written last comes first, as in a server that has a store.
    if (stageObserved(engine, written, at * 1000)) continue;
    const applied = [...lying].map(([cluster, digests]) => stageApplied(engine, cluster, digests));
    hasMore = [...applied, stagePassed(engine, at)].includes(true);
  }
  return engine;
}

function stageCluster(engine: Engine, cluster: RecordedCluster, at: number): void {
  const { inputs, policy } = engine;
  const { name } = cluster;
  const since = at * 1000;
  const isHere = { connected: true, trouble: '', warm: true, assumedWarm: false, kindsAsWritten: true };
  inputs.agents.set('', name, { ...isHere, since });
  inputs.snapshots.set('', name, { since });
  const inForce = policy.get('', '')?.value ?? defaultFleetPolicy;
  const { objects, kinds } = discover(cluster, agentSettings(engine, name, inForce));
  for (const object of objects) inputs.live.set(name, object.key, object);
  for (const kind of kinds) inputs.kinds.set(name, kind.kind, kind);
}

function digestsOf({ live: { objects } }: RecordedCluster): ReadonlyMap<ObjectKey, Digest> {
  return new Map([...objects].map(([key, { value }]) => [key, objectDigest(value)]));
}

/** Stages that the cluster holds what lies in it as it is declared. True if there is more of it than before. */
function stageApplied({ inputs, outputs }: Engine, cluster: string, lying: ReadonlyMap<ObjectKey, Digest>): boolean {
  let hasMore = false;
  for (const [key, found] of lying) {
    const output = outputs.get(cluster, key);
    if (output?.type !== 'object' || !isDeclared(found, output)) continue;
    if (inputs.ledger.get(cluster, key) !== undefined) continue;
    const { digest, origins, scope } = output;
    inputs.ledger.set(cluster, key, { digest, origins, scope, phase: 'accepted' });
    inputs.results.set(cluster, key, { key, digest, state: 'applied', reason: '', message: '' });
    // What is derived from live state is no live state.
    if (scope.length > 0) inputs.live.delete(cluster, key);
    hasMore = true;
  }
  return hasMore;
}

/** Stages which deadlines have passed. True if there are more of them than before. */
function stagePassed({ inputs: { elapsed }, deadlines }: Engine, at: number): boolean {
  let hasMore = false;
  for (const owner of deadlines.partitions()) {
    for (const { key, value } of deadlines.entries(owner)) {
      if (value.at > at || (elapsed.get(owner, key) ?? Number.NEGATIVE_INFINITY) >= value.at) continue;
      elapsed.set(owner, key, value.at);
      hasMore = true;
    }
  }
  return hasMore;
}

/** Stages what the statuses said when they were written last. True if there are more of them than before. */
function stageObserved({ inputs: { observed }, statuses }: Engine, written: StatusFolder, now: number): boolean {
  let hasMore = false;
  for (const kind of statuses.partitions()) {
    for (const { key, value } of statuses.entries(kind)) {
      if (observed.get(kind, key) !== undefined) continue;
      const document = written(value.path);
      const status = isJsonObject(document) ? readObserved(trustedStatus(document.status, now)) : undefined;
      if (status === undefined) continue;
      observed.set(kind, key, status);
      hasMore = true;
    }
  }
  return hasMore;
}

/** What lies in a cluster was read without its stamp, and so without annotations that are empty. */
function isDeclared(found: Digest, { digest, value }: ObjectDecision): boolean {
  return found === digest || found === objectDigest(withoutStamp(value));
}
