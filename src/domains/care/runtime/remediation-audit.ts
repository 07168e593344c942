import type { Derived } from '../../../engine/collections/types.ts';
import { createRateLimit, type Rate } from '../../../model/limits/rate-limit.ts';
import { type JsonObject, objectOf, textOf } from '../../../model/text/json.ts';
import type { AuditEntry, AuditLog } from '../../../ports/audit-log.ts';
import type { ServerCore } from '../../../runtime/core.ts';
import { createKeyedTask } from '../../../runtime/single-flight.ts';
import { jsonWrite, readJson } from '../../../runtime/stored/json-record.ts';
import type { RecordedRemediation, RemediationOutcome } from '../model/remediations.ts';

/** What is an act, and how it ended. */
const STAGES: Readonly<Partial<Record<RemediationOutcome, AuditEntry['stage']>>> = {
  changed: 'done',
  refused: 'refused',
  unknown: 'asked',
};
/** Entries of one cluster: an agent must not fill the disk. */
const RATE: Rate = { burst: 500, perSecond: 0.1 };
/** Looks at the reports of one cluster: each reads the store and the log. Later reports wait, and share one look. */
const LOOKS: Rate = { burst: 10, perSecond: 0.1 };
/** Entries of the log that are looked at: more than one process notes before it is interrupted. */
const LOOKED_AT = 1_000;

/**
 * Notes in the audit log what agents change of webhooks, each change once: by the leader, which remembers in the store what it
 * noted last of each cluster.
 */
export function createRemediationAudit(
  { engine, loop, store, clock, log }: Pick<ServerCore, 'engine' | 'loop' | 'store' | 'clock' | 'log'>,
  remediations: Derived<readonly RecordedRemediation[]>,
  audit: Pick<AuditLog, 'append' | 'tail'>,
  leads: () => boolean,
) {
  const changes = engine.graph.watch(remediations);
  const waitMs = createRateLimit(clock.monotonic, RATE);
  const lookInMs = createRateLimit(clock.monotonic, LOOKS);
  /** By cluster: cancels the next look. */
  const waiting = new Map<string, () => void>();
  /** By cluster: how many entries were left out since the last one. */
  const leftOut = new Map<string, number>();

  async function note(cluster: string): Promise<void> {
    const rows = remediations.get(cluster, cluster) ?? [];
    const last = rows.at(-1);
    if (!leads() || last === undefined || waiting.has(cluster)) return;
    const inMs = lookInMs(cluster);
    if (inMs > 0) return lookLater(cluster, inMs);
    const key = `audited-remediations/${cluster}`;
    const { value, version } = await readJson(store, key);
    const noted = textOf(objectOf(value).id);
    if (noted === last.id) return;
    // A process may have ended between an entry and the record of it.
    const known = new Set((await audit.tail(LOOKED_AT)).map(({ id }) => id));
    for (const row of rows.slice(rows.findIndex(({ id }) => id === noted) + 1)) {
      const entry = entryOf(cluster, row, clock.now());
      if (entry !== undefined && !known.has(entry.id)) await append(cluster, entry);
    }
    const written = await store.write([jsonWrite(key, { id: last.id }, version)]);
    if (written === 'conflict') throw new Error('another server has noted remediations of the cluster');
  }

  function lookLater(cluster: string, inMs: number): void {
    const look = (): void => {
      waiting.delete(cluster);
      task.wake(cluster);
    };
    waiting.set(cluster, clock.schedule(inMs, look));
  }

  async function append(cluster: string, entry: AuditEntry): Promise<void> {
    const omitted = leftOut.get(cluster) ?? 0;
    if (waitMs(cluster) > 0) {
      leftOut.set(cluster, omitted + 1);
      return;
    }
    leftOut.delete(cluster);
    const details = omitted === 0 ? entry.details : { ...entry.details, leftOutBefore: String(omitted) };
    await audit.append({ ...entry, details });
  }

  const task = createKeyedTask({ clock, log }, 'noting remediated webhooks in the audit log', { each: note });
  loop.addSink('readers', () => {
    for (const { partition } of changes.take()) task.wake(partition);
  });
  return {
    /** Whether this server leads now: it may know of changes that the last leader has not noted. */
    lead: (now: boolean): void => {
      if (!now) return;
      for (const cluster of remediations.partitions()) task.wake(cluster);
    },
    stop: () => {
      for (const cancel of waiting.values()) cancel();
      waiting.clear();
      return task.stop();
    },
  };
}

/** The entry of a change; undefined: nothing was asked of the API server. */
function entryOf(cluster: string, row: RecordedRemediation, now: number): AuditEntry | undefined {
  const stage = STAGES[row.outcome];
  if (stage === undefined || row.dryRun) return undefined;
  const { id, time, configuration, webhook, field, from, to, message } = row;
  const fields: JsonObject = { time, configuration, webhook, field, from: text(from), to: text(to) };
  return {
    id: `${cluster}/${id}`,
    at: new Date(now).toISOString(),
    stage,
    who: `agent ${cluster}`,
    role: null,
    proof: 'none',
    from: '',
    act: `clusters/${cluster}/remediate-webhook`,
    details: Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '')),
    message,
  };
}

const LONGEST_VALUE = 300;

function text(value: RecordedRemediation['from']): string {
  const whole = typeof value === 'string' ? value : JSON.stringify(value);
  return whole.length <= LONGEST_VALUE ? whole : `${whole.slice(0, LONGEST_VALUE)}...`;
}
