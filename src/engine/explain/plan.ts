import type { Hold, LedgerEntry } from '../../model/fleet/ledger.ts';
import type { Origin } from '../../model/fleet/output.ts';
import { refusedByPrune } from '../../model/objects/lasting-objects.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { isSameOrigin } from '../fleet/elect.ts';
import type { Engine } from '../graph.ts';
import type { AgentValue } from '../inputs.ts';
import { sameMeta } from '../output/decisions.ts';
import { isInCluster, type Output } from '../output/outputs.ts';
import { createCauseFinder, type PlanCause } from './plan-causes.ts';

/**
 * What a revision would do with one object of one cluster. `move`: the content stays, and its file or scope is another one.
 * `hold`: it deliberately stays as it is. `stay`: it was to be removed, and is declared again. `leave`: its cluster is not
 * registered any more, or never removes it, so the object stays. `cancel`: it was to be created, and never was.
 */
export type PlanAction = 'create' | 'change' | 'move' | 'remove' | 'hold' | 'stay' | 'leave' | 'cancel';

/** One object of one cluster that a revision concerns. */
export interface PlannedObject {
  readonly cluster: string;
  readonly key: ObjectKey;
  readonly action: PlanAction;
  /** The content that was declared before; absent: none, or it is not known. */
  readonly before?: JsonObject;
  /** The content that is declared then; absent: none. */
  readonly after?: JsonObject;
  /** The file that it came from, if it comes from another one. */
  readonly from?: Origin;
  /** Why it is held. */
  readonly hold?: Hold;
  /** Why its agent never removes it, though its manifest is gone. */
  readonly stays?: Hold;
  readonly causes: readonly PlanCause[];
}

/** What a revision changes. */
export interface EnginePlan {
  /** In canonical order of cluster and key. */
  readonly objects: readonly PlannedObject[];
  /** The number of clusters that are registered then. */
  readonly registered: number;
  /** Why the changes of a cluster wait after the merge. */
  readonly waits: ReadonlyMap<string, string>;
}

/**
 * Computes what staged changes of desired state would do: commits them in this engine, and compares the outputs before and
 * after. The engine is a copy that nothing else uses. `unguarded`: what a guard holds counts as removed, because the guards
 * know nothing of the clusters.
 */
export function planOf(engine: Engine, stage: () => void, guards: 'guarded' | 'unguarded' = 'guarded'): EnginePlan {
  const { graph } = engine;
  judgeAsLeader(engine);
  const outputs = graph.watch(engine.outputs);
  const documents = graph.watch(engine.documents);
  const placements = graph.watch(engine.placements);
  const clusters = graph.watch(engine.clusters);
  const declarations = graph.watch(engine.declarations);
  stage();
  engine.commit();
  const causesOf = createCauseFinder(engine, {
    documents: documents.take(),
    placements: placements.take(),
    clusters: clusters.take(),
    declarations: declarations.take(),
  });
  const objects: PlannedObject[] = [];
  const judged = guards === 'guarded' ? (output: Output | undefined) => output : unguarded;
  for (const change of outputs.take()) {
    const { partition: cluster } = change;
    const key = change.key as ObjectKey;
    const [was, is] = [judged(change.before), judged(change.after)];
    const stays = whyItStays(engine, cluster, key, was, is);
    const action = actionOf(was, is, engine.inputs.ledger.get(cluster, key), stays);
    if (action === undefined) continue;
    const hold = action === 'hold' ? holdOf(is) : undefined;
    objects.push({
      cluster,
      key,
      action,
      causes: causesOf(cluster, key, was, is),
      ...(was?.type === 'object' ? { before: was.value } : {}),
      ...(is?.type === 'object' ? { after: is.value } : {}),
      ...(action === 'move' ? movedFrom(was, is) : {}),
      ...(hold === undefined ? {} : { hold }),
      ...(action === 'leave' && stays !== undefined ? { stays } : {}),
    });
  }
  return { objects, registered: engine.clusters.size(''), waits: waitsOf(engine, objects) };
}

function movedFrom(before: Output | undefined, after: Output | undefined): Pick<PlannedObject, 'from'> {
  const [from] = before?.origins ?? [];
  return from === undefined || isSameOrigin(from, after?.origins[0]) ? {} : { from };
}

/** Undefined: nothing that the revision does. */
function actionOf(
  before: Output | undefined,
  after: Output | undefined,
  entry: LedgerEntry | undefined,
  stays: Hold | undefined,
): PlanAction | undefined {
  switch (after?.type) {
    case undefined:
      return before?.type === 'object' ? 'cancel' : undefined;
    case 'object': {
      if (before?.type === 'object') {
        if (before.digest !== after.digest) return 'change';
        return sameMeta(before, after) ? undefined : 'move';
      }
      if (!isInCluster(entry)) return 'create';
      if (entry.digest !== after.digest) return 'change';
      return sameMeta(entry, after) ? 'stay' : 'move';
    }
    case 'remove':
      if (before?.type === 'remove') return undefined;
      return stays === undefined ? 'remove' : 'leave';
    case 'held':
    case 'keep':
    case 'absent':
      return before?.type === after.type && before.reason === after.reason ? undefined : 'hold';
    case 'left':
      return before?.type === 'left' ? undefined : 'leave';
    case 'removing':
      return undefined;
  }
}

/** Why an object whose manifest goes stays in its cluster; undefined: it is removed. */
function whyItStays(
  { inputs }: Engine,
  cluster: string,
  key: ObjectKey,
  before: Output | undefined,
  after: Output | undefined,
): Hold | undefined {
  if (after?.type !== 'remove') return undefined;
  const isInDirectory = inputs.agents.get('', cluster)?.kindsAsWritten === true;
  return after.stays ?? (before?.type === 'object' && !isInDirectory ? refusedByPrune(key, before.value) : undefined);
}

/** A follower's state is planned as its leader would: without the leader's permits its removals would wait. */
function judgeAsLeader(engine: Engine): void {
  const { fleet } = engine.inputs;
  const settings = fleet.get('', '');
  if (settings === undefined || settings.role === 'leader') return;
  fleet.set('', '', { ...settings, role: 'leader' });
  engine.commit();
}

function holdOf(output: Output | undefined): Hold | undefined {
  if (output?.type !== 'held' && output?.type !== 'keep' && output?.type !== 'absent') return undefined;
  return { reason: output.reason, message: output.message };
}

function unguarded(output: Output | undefined): Output | undefined {
  if (output?.type !== 'held') return output;
  const { digest, origins, scope } = output;
  return { type: 'remove', digest, origins, scope };
}

/** By the last known state of the agents. A plan of documents alone knows no agents. */
function waitsOf(
  { inputs: { agents, suspended } }: Engine,
  objects: readonly PlannedObject[],
): ReadonlyMap<string, string> {
  const waits = new Map<string, string>();
  if (agents.size('') === 0) return waits;
  for (const cluster of new Set(objects.map((each) => each.cluster))) {
    const why = waitOf(agents.get('', cluster), suspended.get('', cluster));
    if (why !== undefined) waits.set(cluster, why);
  }
  return waits;
}

/** Undefined: what is sent to the cluster arrives. */
function waitOf(agent: AgentValue | undefined, suspension: string | undefined): string | undefined {
  if (suspension !== undefined) return suspension;
  if (agent === undefined) return 'its agent has never connected';
  return agent.connected ? undefined : 'its agent is not connected';
}
