import { explainObject } from '../../engine/explain/explain-object.ts';
import { findObject } from '../../engine/explain/object-name.ts';
import type { Reason } from '../../engine/explain/reason.ts';
import type { Engine } from '../../engine/graph.ts';
import { displayLocation } from '../../model/diagnostic.ts';
import { displayKey, type ObjectKey, parseObjectKey } from '../../model/object-key.ts';
import type { Answer, Explanation, ExplanationStep } from '../../server/api.ts';
import type { SourceTable } from '../source-table.ts';
import type { Locator } from './locator.ts';

interface ExplainDeps {
  readonly engine: Engine;
  readonly sources: SourceTable;
  readonly locator: Locator;
}

/** Answers where an object of a cluster comes from, down to file:line@commit. */
export async function explain(deps: ExplainDeps, cluster: string, object: string): Promise<Answer<Explanation>> {
  const found = findObject(deps.engine, cluster, object);
  switch (found.type) {
    case 'none':
      return { ok: false, kind: 'notFound', message: notFound(deps.engine, cluster, object, found.elsewhere) };
    case 'ambiguous': {
      const names = found.keys.map(displayKey).join(', ');
      return { ok: false, kind: 'conflict', message: `${object} can be several objects of ${cluster}: ${names}` };
    }
    case 'found':
      return { ok: true, value: await explainKey(deps, cluster, found.key) };
  }
}

async function explainKey(deps: ExplainDeps, cluster: string, key: ObjectKey): Promise<Explanation> {
  const { progress, reasons } = explainObject(deps.engine, cluster, key);
  return {
    cluster,
    object: displayKey(key),
    state: progress?.state ?? 'pending',
    message: progress?.message ?? '',
    because: await Promise.all(reasons.map((reason) => step(deps, reason))),
  };
}

async function step(deps: ExplainDeps, reason: Reason): Promise<ExplanationStep> {
  switch (reason.type) {
    case 'declares': {
      const note = reason.counts ? 'declares it' : 'declares it too, and does not count';
      return { kind: 'manifest', name: titleOf(reason.at.identity), at: await place(deps, reason.at), note };
    }
    case 'declared':
      return {
        kind: 'manifest',
        name: '',
        at: `${reason.at.path} (${reason.at.source})`,
        note: 'declared it when it was last accepted',
      };
    case 'folder':
      return {
        kind: 'folder rule',
        name: `clusters/${reason.cluster}/`,
        at: '',
        note: `what lies under it goes to cluster ${reason.cluster}`,
      };
    case 'rule':
      return { kind: reason.kind, name: reason.name, at: await place(deps, reason.at), note: reason.part };
    case 'live':
      return { kind: 'live object', name: displayKey(reason.key), at: `cluster ${reason.cluster}`, note: reason.part };
    case 'scope':
      return { kind: 'cluster', name: reason.cluster, at: '', note: 'it was computed from what lived there' };
  }
}

async function place(deps: ExplainDeps, ref: Parameters<Locator['find']>[0]): Promise<string> {
  const location = await deps.locator.find(ref);
  const revision = deps.sources.get(ref.source)?.admitted?.revision;
  const source = deps.sources.all().length > 1 ? `${ref.source}:` : '';
  return `${source}${displayLocation(location)}${revision === undefined ? '' : `@${revision.slice(0, 12)}`}`;
}

function notFound(engine: Engine, cluster: string, object: string, elsewhere: readonly string[]): string {
  if (engine.clusters.get('', cluster) === undefined) return `there is no cluster ${cluster}`;
  const others = elsewhere.length === 0 ? 'nor in any other cluster' : `but in ${elsewhere.join(', ')}`;
  return `fleetrelay has nothing to do with ${object} in ${cluster}, ${others}`;
}

/** A document's identity as people write it. */
function titleOf(identity: string): string {
  const key = parseObjectKey(identity.replace(/#\d+$/, ''));
  return key.ok ? displayKey(key.value) : identity;
}
