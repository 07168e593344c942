import { readdirSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { knownClusterId } from '../../adapters/directory/instance.ts';
import { createLiveFiles } from '../../adapters/directory/live-files.ts';
import { withoutStamp } from '../../adapters/directory/stamp.ts';
import { createDiscovery } from '../../agent/discovery/discovery.ts';
import { EMPTY_INVENTORY } from '../../agent/reconciler/inventory.ts';
import { domainRenders } from '../../domains/renders.ts';
import type { Engine } from '../../engine/graph.ts';
import type { ObjectDecision } from '../../engine/output/decisions.ts';
import type { KindState, LiveObject } from '../../model/agent/agent.ts';
import type { AgentSettings } from '../../model/agent/agent-settings.ts';
import { readObserved } from '../../model/fleet/conditions.ts';
import { defaultFleetPolicy } from '../../model/fleet/fleet-policy.ts';
import type { ClusterId, Digest } from '../../model/fleet/ids.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { objectDigest } from '../../model/text/digest.ts';
import { compareText, isJsonObject, type JsonValue } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import { given } from '../../model/values/given.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LiveState } from '../../ports/cluster-api.ts';
import { trustedStatus } from '../../runtime/status/status-documents.ts';
import { agentSettings } from '../../sinks/agents/settings.ts';
import { openEvaluation } from '../evaluate.ts';
import type { Checkout } from '../read-checkout.ts';
import type { InputFile } from './domain-render.ts';

/**
 * Computes what the engine makes of a checkout and of recorded clusters. Every recorded cluster counts as connected, and
 * an object counts as applied if it is in its cluster as it is declared.
 *
 * @param at whole seconds since 1970: deadlines up to then have passed
 * @param written reads the status that was written last
 * @param files with inputs of domains
 * @param version of the program
 */
export function evaluate(
  checkout: Checkout,
  clusters: readonly RecordedCluster[],
  at: number,
  written: StatusFolder = () => undefined,
  files: readonly InputFile[] = [],
  version?: string,
): Engine {
  const engine = openEvaluation(checkout, version);
  for (const file of files) file.stage(engine);
  const digests = new Map(clusters.map((cluster) => [cluster.name, digestsOf(cluster)]));
  if (clusters.length > 0) {
    // The settings of agents come from the repository.
    engine.commit();
    for (const cluster of clusters) stageCluster(engine, cluster, at);
  }
  // The loop ends: each round but the last one stages another applied object, passed deadline or status.
  for (let hasMore = true; hasMore; ) {
    engine.commit();
    // The status written last is staged first, as in a server with a store.
    if (stageObserved(engine, written, at * 1000)) continue;
    const applied = [...digests].map(([cluster, found]) => stageApplied(engine, cluster, found));
    hasMore = [...applied, stagePassed(engine, at)].includes(true);
  }
  return engine;
}

function stageCluster(engine: Engine, cluster: RecordedCluster, at: number): void {
  const { inputs, policy } = engine;
  const { name, id } = cluster;
  const since = at * 1000;
  const isHere = { connected: true, problem: '', warm: true, assumedWarm: false, kindsAsWritten: true };
  inputs.agents.set('', name, { ...isHere, since, ...given({ id }) });
  inputs.snapshots.set('', name, { since });
  const inForce = policy.get('', '')?.value ?? defaultFleetPolicy;
  const { objects, kinds } = discover(cluster, agentSettings(engine, name, inForce), since);
  for (const object of objects) inputs.live.set(name, object.key, object);
  for (const kind of kinds) inputs.kinds.set(name, kind.kind, kind);
}

function digestsOf({ live: { objects } }: RecordedCluster): ReadonlyMap<ObjectKey, Digest> {
  return new Map([...objects].map(([key, { value }]) => [key, objectDigest(value)]));
}

/** Stages as applied all live objects that equal their output. Returns whether one of them was not staged before. */
function stageApplied({ inputs, outputs }: Engine, cluster: string, live: ReadonlyMap<ObjectKey, Digest>): boolean {
  let hasMore = false;
  for (const [key, found] of live) {
    const output = outputs.get(cluster, key);
    if (output?.type !== 'object' || !isDeclared(found, output)) continue;
    if (inputs.ledger.get(cluster, key) !== undefined) continue;
    const { digest, origins, scope } = output;
    inputs.ledger.set(cluster, key, { digest, origins, scope, phase: 'accepted' });
    inputs.results.set(cluster, key, { key, digest, state: 'applied', reason: '', message: '' });
    // Agents do not report objects that were derived from live state.
    if (scope.length > 0) inputs.live.delete(cluster, key);
    hasMore = true;
  }
  return hasMore;
}

/** Stages the deadlines that have passed. Returns whether one of them was not staged before. */
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

/** Stages the statuses that were written last. Returns whether one of them was not staged before. */
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

/** Whether a live object, which was read without its stamp, is as it is declared. */
function isDeclared(found: Digest, { digest, value }: ObjectDecision): boolean {
  return found === digest || found === objectDigest(withoutStamp(value));
}

/** The live state of a cluster, read from a folder. */
export interface RecordedCluster {
  readonly name: string;
  /** Of the agent that once ran on the folder; absent: none did. */
  readonly id?: ClusterId;
  /** Paths in it are relative to the folder. */
  readonly live: LiveState;
}

/**
 * Reads the directory cluster in each folder of `folder`; hidden folders are left out. Writes nothing. Rejects with
 * a text for a person if the folder cannot be listed.
 */
export async function readRecordedClusters(
  folder: string,
  clock: Pick<Clock, 'now' | 'monotonic'>,
): Promise<readonly RecordedCluster[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw new Error(`the clusters in ${folder} cannot be read: ${errorText(error)}`);
  });
  const names = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name);
  return Promise.all(
    names.sort(compareText).map(async (name) => {
      const files = createLiveFiles(join(folder, name), clock);
      await files.walk();
      const id = knownClusterId(join(folder, name));
      return { name, ...given({ id }), live: files.state(false) };
    }),
  );
}

/** The objects and kinds that an agent with these settings reports of the cluster at a moment. */
function discover({ live }: RecordedCluster, settings: AgentSettings, nowMillis: number) {
  const published: { readonly objects: readonly LiveObject[]; readonly kinds: readonly KindState[] }[] = [];
  const discovery = createDiscovery(
    { publishInput: ({ objects, kinds }) => void published.push({ objects: [...objects.values()], kinds }) },
    () => settings,
  );
  for (const { name, reports } of domainRenders) {
    if (reports !== undefined) discovery.report(name, reports(live, settings, nowMillis));
  }
  discovery.take(live, EMPTY_INVENTORY.records);
  const [snapshot] = published;
  if (snapshot === undefined) throw new Error('the first state of a cluster was not published');
  // Each reading of a value computes it again.
  return { ...snapshot, objects: snapshot.objects.map(({ key, value, digest }) => ({ key, value, digest })) };
}

/** Reads a status document by its path on the status branch; undefined if there is none, or it is not YAML. */
export type StatusFolder = (path: string) => JsonValue | undefined;

/** Opens a checkout of the status branch. Throws a text for a person if it cannot be listed. */
export function openStatusFolder(folder: string): StatusFolder {
  try {
    readdirSync(folder);
  } catch (error) {
    throw new Error(`the status in ${folder} cannot be read: ${errorText(error)}`);
  }
  const known = new Map<string, JsonValue | undefined>();
  return (path) => {
    if (!known.has(path)) known.set(path, readDocument(join(folder, path)));
    return known.get(path);
  };
}

function readDocument(file: string): JsonValue | undefined {
  try {
    return load(readFileSync(file, 'utf8')) as JsonValue;
  } catch {
    return undefined;
  }
}
