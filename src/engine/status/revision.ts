import type { ConditionValue, OutcomeCounts } from '../../model/conditions.ts';
import { compareText } from '../../model/json.ts';
import { rfc3339 } from '../../model/time.ts';
import { countProgress, type Engine } from '../graph.ts';
import { countOutcomes, summarise } from './conditions.ts';
import { countHealth } from './health.ts';
import { addHealth, type HealthCounts } from './health-counts.ts';
import { asCommitted, type Trouble, worstTrouble } from './lookups.ts';
import { progressGroup } from './progress.ts';
import { fleetSafeModeConditions } from './safe-mode.ts';

/** How far a source's admitted revision has got in the fleet. */
export interface RevisionStatus {
  /** Clusters that it targets, and how many hold all of it. */
  readonly targeted: number;
  readonly applied: number;
  readonly waiting: readonly { readonly cluster: string; readonly message: string }[];
  /** Over objects, not clusters. */
  readonly counts: OutcomeCounts;
  /** "applied by 2 of 3 clusters; waiting for west: disconnected since 10:42:07Z". */
  readonly summary: string;
  readonly conditions: readonly ConditionValue[];
}

/** How many waiting clusters a summary names before it only counts them. */
const NAMED = 3;

/** Works out the status of a source's revision, or of the whole fleet if no source is given. */
export function revisionStatus(engine: Engine, source?: string): RevisionStatus {
  const waiting: { cluster: string; message: string }[] = [];
  let targeted = 0;
  let applied = 0;
  let total: OutcomeCounts = { targeted: 0, applied: 0, failed: 0, held: 0, pending: 0, unreachable: 0 };
  let health: HealthCounts = { failed: 0, inProgress: 0, terminating: 0, unknown: 0, current: 0 };
  for (const { key: cluster } of [...engine.clusters.entries('')].sort((a, b) => compareText(a.key, b.key))) {
    const counts = countOutcomes(countProgress(engine, cluster, source));
    if (counts.targeted === 0) continue;
    targeted++;
    total = add(total, counts);
    health = addHealth(health, countHealth(asCommitted, engine.indexes.health, cluster, source));
    if (counts.applied === counts.targeted) applied++;
    else waiting.push({ cluster, message: whyWaiting(engine, cluster, counts, source) });
  }
  const [first] = waiting;
  const worst = first === undefined ? undefined : worstProgress(engine, first.cluster, source);
  return {
    targeted,
    applied,
    waiting,
    counts: total,
    summary: summaryOf(targeted, applied, waiting),
    conditions: [...summarise(total, worst, health), ...fleetSafeModeConditions(engine)],
  };
}

function whyWaiting(engine: Engine, cluster: string, counts: OutcomeCounts, source: string | undefined): string {
  const agent = engine.inputs.agents.get('', cluster);
  const worst = worstProgress(engine, cluster, source);
  const said = worst === undefined || worst.message === '' ? '' : `: ${worst.message}`;
  if (counts.failed > 0) return `${counts.failed} failed${said}`;
  if (counts.unreachable > 0 && agent?.connected !== true) {
    return agent === undefined || agent.since === 0
      ? 'not connected yet'
      : `disconnected since ${rfc3339(agent.since).slice(11)}`;
  }
  if (counts.held > 0) return `${counts.held} held${said}`;
  return `${counts.pending + counts.unreachable} pending`;
}

function worstProgress({ indexes }: Engine, cluster: string, source?: string): Trouble | undefined {
  return worstTrouble(asCommitted, indexes.progress, (state) => progressGroup(cluster, state, source));
}

function summaryOf(
  targeted: number,
  applied: number,
  waiting: readonly { cluster: string; message: string }[],
): string {
  if (targeted === 0) return 'targets no cluster';
  const head = `applied by ${applied} of ${targeted} clusters`;
  if (waiting.length === 0) return head;
  const named = waiting.slice(0, NAMED).map(({ cluster, message }) => `${cluster}: ${message}`);
  const rest = waiting.length > NAMED ? [`and ${waiting.length - NAMED} more`] : [];
  return `${head}; waiting for ${[...named, ...rest].join(', ')}`;
}

function add(a: OutcomeCounts, b: OutcomeCounts): OutcomeCounts {
  return {
    targeted: a.targeted + b.targeted,
    applied: a.applied + b.applied,
    failed: a.failed + b.failed,
    held: a.held + b.held,
    pending: a.pending + b.pending,
    unreachable: a.unreachable + b.unreachable,
  };
}
