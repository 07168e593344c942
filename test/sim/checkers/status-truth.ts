import { load } from 'js-yaml';
import { displayKey } from '../../../src/model/objects/object-key.ts';
import { jsonEquals } from '../../../src/model/text/json.ts';
import { STATUS_BRANCH } from '../actors/server.ts';
import { valueOfObject } from '../desired.ts';
import { type Wish, wantedBy } from '../oracle.ts';
import type { SimCluster } from '../ports/cluster.ts';
import type { World } from '../world.ts';
import { isHostile, type MakeChecker } from './checker.ts';

interface ClusterFile {
  readonly status: { readonly counts: Readonly<Record<'targeted' | 'applied', number>> };
}

interface ObjectFile {
  readonly object: string;
  readonly status: { readonly clusters: readonly { readonly cluster: string; readonly state: string }[] };
}

/** What is so in a cluster, and the words for it in status. `staying`: a Namespace that something lies in. */
const STATES = {
  applied: ['applied'],
  conflict: ['conflict'],
  staying: ['kept', 'removing'],
  missing: [],
  other: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;
type State = keyof typeof STATES;

/**
 * At rest the status branch says of every object in every cluster what is so there. A removal that still waits may have no
 * status after a store was lost: no tag proves its entry.
 */
export const statusTruth: MakeChecker = (world, fail) => {
  let isLost = false;
  /** By `cluster object`: its agent has said that it has lost the content. */
  const contentLost = new Set<string>();
  world.listen((event) => {
    if (event.type === 'storeLost' || event.type === 'evicted') isLost = true;
    if (event.type !== 'log' || event.line.data.reason !== 'ContentUnknown') return;
    const [cluster = ''] = event.line.process.split('.');
    contentLost.add(`${cluster} ${String(event.line.data.object)}`);
  });
  /** Does the agent hold an object whose content it had lost before it could create it? It waits to be removed. */
  const isNeverCreated = (cluster: SimCluster, object: string): boolean =>
    contentLost.has(`${cluster.name} ${object}`) && isInPhase(cluster, object, 'held');
  const atRest = (): void => {
    const { clusters, objects } = readStatus(world);
    const wanted = wantedBy(world.repositories.map(({ source, tree }) => ({ source, tree: tree(), read: true })));
    for (const name of clusters.keys())
      if (!wanted.clusters.has(name)) fail(`there is status of ${name}, which is not declared`);
    for (const { cluster } of world.agents) {
      const here = wanted.clusters.get(cluster.name);
      if (here === undefined || isHostile(world, cluster)) continue;
      const truth = truthOf(cluster, here);
      const said = objects.get(cluster.name) ?? new Map<string, string>();
      for (const [object, state] of truth) {
        if (isLost && state === 'staying' && said.get(object) === undefined && isWaiting(cluster, object)) continue;
        if (!STATES[state].some((word) => word === said.get(object))) {
          fail(`${object} in ${cluster.name} is ${state}, and its status says ${said.get(object) ?? 'nothing'}`);
        }
      }
      for (const object of said.keys())
        if (!truth.has(object) && !isWaiting(cluster, object) && !isNeverCreated(cluster, object))
          fail(`there is status of ${object} in ${cluster.name}, where it is not`);
      const applied = [...truth.values()].filter((state) => state === 'applied').length;
      const counted = clusters.get(cluster.name)?.applied;
      if (counted !== applied)
        fail(`${applied} objects are applied in ${cluster.name}, and its status says ${counted ?? 'nothing'}`);
    }
  };
  return { name: 'status truth', atRest };
};

/** Has the agent accepted the removal of an object, and not yet said that it is gone? An agent that died may have removed it. */
function isWaiting(cluster: SimCluster, object: string): boolean {
  return isInPhase(cluster, object, 'removing');
}

function isInPhase({ memory }: SimCluster, object: string, wanted: 'held' | 'removing'): boolean {
  const records = [...(memory.inventory.current?.records.values() ?? [])];
  return records.some(({ key, phase }) => phase === wanted && displayKey(key) === object);
}

function readStatus({ repositories }: World) {
  const remote = repositories[0]?.remote;
  const tip = remote?.tip(STATUS_BRANCH);
  const files = Object.entries(remote === undefined || tip === undefined ? {} : remote.files(tip));
  const clusters = new Map<string, ClusterFile['status']['counts']>();
  const objects = new Map<string, Map<string, string>>();
  for (const [path, text] of files) {
    const name = /^clusters\/(.*)\.yaml$/.exec(path)?.[1];
    if (name !== undefined) clusters.set(name, (load(text) as ClusterFile).status.counts);
    if (!path.startsWith('objects/')) continue;
    const { object, status } = load(text) as ObjectFile;
    for (const { cluster, state } of status.clusters) {
      const known = objects.get(cluster) ?? new Map<string, string>();
      objects.set(cluster, known.set(object, state));
    }
  }
  return { clusters, objects };
}

/** What is so in a cluster, by object as people write it. */
function truthOf(
  { memory, foreign, letGo }: SimCluster,
  wanted: ReadonlyMap<string, readonly Wish[]>,
): Map<string, State> {
  const truth = new Map<string, State>();
  const keys = new Map([...memory.objects.keys(), ...foreign.keys()].map((key) => [`${key}`, key]));
  for (const [key, wishes] of wanted) {
    const id = keys.get(key);
    const object = key
      .split('/')
      .slice(1)
      .filter((part) => part !== '')
      .join('/');
    if (id === undefined) truth.set(object, 'missing');
    else if (foreign.has(id)) truth.set(displayKey(id), 'conflict');
    else {
      const live = memory.objects.get(id)?.value;
      const isSo = wishes.some((wish) => jsonEquals(valueOfObject(wish.object), live));
      truth.set(displayKey(id), isSo ? 'applied' : 'other');
    }
  }
  for (const [id, { stamp }] of memory.objects) {
    if (stamp !== undefined && !letGo.has(id) && !wanted.has(id)) truth.set(displayKey(id), 'staying');
  }
  return truth;
}
