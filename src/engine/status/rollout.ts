import type { ConditionValue, OutcomeCounts } from '../../model/fleet/conditions.ts';
import { compareText } from '../../model/text/json.ts';
import { firstNames } from '../../model/text/messages.ts';
import { rfc3339 } from '../../model/text/time.ts';
import { fileGroup } from '../fleet/sources.ts';
import type { Engine } from '../graph.ts';
import { causeOf } from './clusters.ts';
import {
  addTallies,
  asCommitted,
  clusterSubject,
  countOutcomes,
  countsOf,
  emptyTally,
  summarise,
  type Tally,
  tallyOf,
  tallyOfList,
} from './progress.ts';

/** The objects of a cluster as of the last commit; with a source: only objects that come from it. */
export function clusterTally({ indexes }: Engine, cluster: string, source?: string): Tally {
  return tallyOf(asCommitted, indexes.progressBySubject, clusterSubject(cluster, source));
}

/** The rollout of a source's admitted revision. */
export type RevisionStatus = ReturnType<typeof revisionStatus>;

/** A summary names at most this many waiting clusters, and counts the others. */
const NAMED = 3;

/** The status of a source's revision; without a source, of all of them. */
export function revisionStatus(engine: Engine, source?: string) {
  const tallies = Array.from(engine.clusters.entries(''), ({ key: cluster }) => ({
    cluster,
    tally: clusterTally(engine, cluster, source),
  }));
  const clusters = tallies
    .map((each) => ({ ...each, counts: countOutcomes(each.tally) }))
    .filter(({ counts }) => counts.targeted > 0)
    .sort((a, b) => compareText(a.cluster, b.cluster));
  const waiting = clusters
    .filter(({ counts }) => counts.applied !== counts.targeted)
    .map(({ cluster, tally, counts }) => ({ cluster, message: whyWaiting(engine, cluster, counts, tally.worst) }));
  const total = tallies.reduce((sum, { tally }) => addTallies(sum, tally), emptyTally);
  const targeted = clusters.length;
  const applied = targeted - waiting.length;
  return {
    /** The clusters that it targets, how many of them have applied all of it, and the others. */
    targeted,
    applied,
    waiting,
    /** Of objects and statuses, not of clusters. */
    ...countsOf(total),
    /** "applied by 2 of 3 clusters; waiting for west: disconnected since 10:42:07Z". */
    summary: summaryOf(targeted, applied, waiting),
    conditions: [...summarise(total), ...fleetSafeModeConditions(engine)],
  };
}

/** The summary of all sources' revisions. It also says what was last seen of clusters without a connected agent. */
export function fleetSummary(engine: Engine): string {
  const { summary, waiting } = revisionStatus(engine);
  const away = [...engine.clusters.entries('')]
    .map(({ key }) => key)
    .filter((cluster) => engine.inputs.agents.get('', cluster)?.connected !== true)
    .filter((cluster) => clusterTally(engine, cluster).states.applied > 0)
    .filter((cluster) => waiting.every((each) => each.cluster !== cluster))
    .sort(compareText);
  if (away.length === 0) return summary;
  return `${summary}; as last seen: ${firstNames(away, NAMED)} ${away.length === 1 ? 'is' : 'are'} away`;
}

function whyWaiting(engine: Engine, cluster: string, counts: OutcomeCounts, worst: Tally['worst']): string {
  const cause = worst === undefined || worst.message === '' ? '' : `: ${worst.message}`;
  if (counts.failed > 0) return `${counts.failed} failed${cause}`;
  const { connected = false, since = 0 } = engine.inputs.agents.get('', cluster) ?? {};
  if (counts.unreachable > 0 && !connected) {
    return since === 0 ? 'not connected yet' : `disconnected since ${rfc3339(since).slice(11)}`;
  }
  if (counts.held > 0) return `${counts.held} held${cause}`;
  return `${counts.pending + counts.unreachable} pending`;
}

function summaryOf(
  targeted: number,
  applied: number,
  waiting: readonly { readonly cluster: string; readonly message: string }[],
): string {
  if (targeted === 0) return 'targets no cluster';
  const head = `applied by ${applied} of ${targeted} clusters`;
  if (waiting.length === 0) return head;
  const named = waiting.slice(0, NAMED).map(({ cluster, message }) => `${cluster}: ${message}`);
  const rest = waiting.length > NAMED ? [`and ${waiting.length - NAMED} more`] : [];
  return `${head}; waiting for ${[...named, ...rest].join(', ')}`;
}

/** The rollout of one object in its clusters. */
export type ObjectStatus = NonNullable<ReturnType<typeof objectStatus>>;

/** The status of an object by its key; undefined if no cluster provably has it or should have it. */
export function objectStatus(engine: Engine, key: string) {
  const members = engine.indexes.progressByObject.members(key).filter(({ value }) => value.isUnproven !== true);
  if (members.length === 0) return undefined;
  const all = members.map(({ value }) => value);
  const tally = tallyOfList(all);
  const origins = new Map(all.flatMap((progress) => progress.origins).map((origin) => [fileGroup(origin), origin]));
  return {
    origins: [...origins].sort(([a], [b]) => compareText(a, b)).map(([, origin]) => origin),
    counts: countOutcomes(tally),
    clusters: members.map(({ partition, value }) => ({ cluster: partition, progress: value })),
    conditions: summarise(tally),
  };
}

/**
 * The declared mode, and the clusters that changes wait for, in canonical order; undefined if no change waits. Cost follows the
 * clusters that are not visible.
 */
export function safeModeStatus({ safeMode, indexes, readers }: Engine) {
  const mode = safeMode.mode.get('', '');
  if (mode === undefined) return undefined;
  const reads = { ledgerByScope: indexes.ledgerByScope, readers };
  const causes = [...safeMode.unseen.entries('')]
    .flatMap(({ key, value }) => causeOf(asCommitted, reads, mode, key, value) ?? [])
    .sort((a, b) => compareText(a.cluster, b.cluster));
  return causes.length === 0 ? undefined : { mode: mode.declared, causes };
}

function fleetSafeModeConditions(engine: Engine): readonly ConditionValue[] {
  const [first, ...others] = safeModeStatus(engine)?.causes ?? [];
  if (first === undefined) return [];
  const message = [first, ...others].map(({ cluster, message: why }) => `${cluster}: ${why}`).join('; ');
  return [{ type: 'SafeMode', status: 'True', reason: first.reason, message }];
}
