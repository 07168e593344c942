import type { Engine } from '../../engine/graph.ts';
import { snapshotDigest } from '../../model/digest.ts';
import { servedService } from '../../model/endpoints.ts';
import type { Digest } from '../../model/ids.ts';
import { compareText } from '../../model/json.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { ObjectMeta, OutputDelta, OutputObject, RevisionRef } from '../../model/output.ts';

/** A delta and what the ledger says once it is on its way. */
export interface PlannedDelta {
  readonly delta: OutputDelta;
  readonly entries: ReadonlyMap<ObjectKey, LedgerEntry>;
}

/** The delta that brings a cluster from what it holds to its output snapshot; undefined if it is in sync. */
export function buildDelta(
  engine: Engine,
  cluster: string,
  from: Digest,
  revisions: readonly RevisionRef[],
): PlannedDelta | undefined {
  const upserts: OutputObject[] = [];
  const touches: (ObjectMeta & { key: ObjectKey })[] = [];
  const removals: ObjectKey[] = [];
  const entries = new Map<ObjectKey, LedgerEntry>();
  const pending = [...engine.pending.entries(cluster)].sort((a, b) => compareText(a.key, b.key));
  for (const { key: text, value: change } of pending) {
    const key = text as ObjectKey;
    const before = engine.inputs.ledger.get(cluster, key);
    if (change.type === 'upsert') {
      const { digest, value, origins, scope } = change.object;
      upserts.push({ key, digest, value, origins, scope });
      const serves = servedService(key, value);
      const sent = { digest, origins, scope, phase: 'inFlight' } as const;
      entries.set(key, serves === undefined ? sent : { ...sent, serves });
    } else if (before !== undefined && change.type === 'touch') {
      const { origins, scope } = change;
      touches.push({ key, origins, scope });
      entries.set(key, { ...before, origins, scope });
    } else if (before !== undefined) {
      removals.push(key);
      entries.set(key, { ...before, phase: 'removing' });
    }
  }
  if (entries.size === 0) return undefined;
  const to = digestAfter(engine, cluster, entries);
  return { delta: { from, to, upserts, touches, removals, keeps: keepsOf(engine, cluster), revisions }, entries };
}

function digestAfter(engine: Engine, cluster: string, changed: ReadonlyMap<ObjectKey, LedgerEntry>): Digest {
  const after = new Map<string, LedgerEntry>(changed);
  for (const { key, value } of engine.inputs.ledger.entries(cluster)) if (!after.has(key)) after.set(key, value);
  return snapshotDigest(
    [...after].filter(([, entry]) => entry.phase !== 'removing').map(([key, entry]) => [key, entry.digest] as const),
  );
}

function keepsOf(engine: Engine, cluster: string): OutputDelta['keeps'] {
  return engine.indexes.keeps
    .members(cluster)
    .flatMap(({ key, value }) =>
      value.type === 'keep' || value.type === 'held' ? [{ key: key as ObjectKey, reason: value.reason }] : [],
    );
}
