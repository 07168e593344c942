import type { Answer } from '../../api/answer.ts';
import type { DeltaView, HistoryRequest, SentObjectView } from '../../api/history-api.ts';
import { clusterHint } from '../../engine/fleet/clusters.ts';
import type { Engine } from '../../engine/graph.ts';
import { isNameOf, type ObjectName, parseObjectName } from '../../model/fleet/explain-query.ts';
import { quote } from '../../model/fleet/ids.ts';
import { displayKey, objectRefOf } from '../../model/objects/object-key.ts';
import { errorText } from '../../model/text/messages.ts';
import { rfc3339 } from '../../model/text/time.ts';
import type { History } from '../history/history.ts';
import { type ChangedObject, type DeltaRecord, totalOf } from '../history/records.ts';

/** Answers what was sent to a cluster, the newest first. */
export async function historyOf(
  { engine, history }: { readonly engine: Engine; readonly history: Pick<History, 'read'> },
  { cluster, object, limit, since = 0 }: HistoryRequest,
): Promise<Answer<readonly DeltaView[]>> {
  const name = object === undefined ? undefined : parseObjectName(object);
  if (name?.ok === false) return { ok: false, kind: 'invalid', message: `${quote(object ?? '')} ${name.problem}` };
  let records: readonly DeltaRecord[];
  try {
    records = await history.read(cluster);
  } catch (error) {
    return { ok: false, kind: 'unavailable', message: `the store does not answer: ${errorText(error)}` };
  }
  if (records.length === 0 && engine.clusters.get('', cluster) === undefined) {
    const { hint } = clusterHint(cluster, engine.clusters);
    const message = `there is no cluster ${quote(cluster)}${hint === undefined ? '' : `; ${hint}`}`;
    return { ok: false, kind: 'notFound', message };
  }
  const views = records
    .filter(({ at }) => at >= since)
    .map((record) => deltaView(record, name?.value))
    .filter(({ objects, unlisted }) => name === undefined || objects.length > 0 || unlisted > 0);
  return { ok: true, value: views.slice(-limit).reverse() };
}

function deltaView(record: DeltaRecord, name: ObjectName | undefined): DeltaView {
  const { position, at, revisions, moved, answer, counts, keeps, objects, unrecorded = false, cut } = record;
  const shown = objects.filter(({ key }) => name === undefined || isNameOf(name, objectRefOf(key)));
  return {
    ...position,
    at: rfc3339(at),
    revisions: revisions.map((ref) => ({ ...ref, isNew: moved.includes(ref.source) })),
    reasons: [...new Set(shown.map(({ why }) => why))],
    answer: { state: answer.state, at: rfc3339(answer.at), message: answer.message ?? '' },
    counts,
    keeps,
    objects: shown.map(objectView),
    unlisted: totalOf(record) - objects.length,
    unrecorded,
    rest: cut?.rest ?? 0,
  };
}

function objectView({ key, change, why, origin, outcome }: ChangedObject): SentObjectView {
  return {
    object: displayKey(key),
    change,
    reason: why,
    from: origin === undefined ? null : { source: origin.source, path: origin.path },
    state: outcome?.state ?? null,
    stateAt: outcome === undefined ? null : rfc3339(outcome.at),
    message: outcome?.message ?? '',
  };
}
