import type { Reason } from '../../engine/explain/reason.ts';
import type { DocumentRef } from '../../engine/fleet/sources.ts';
import type { Engine } from '../../engine/graph.ts';
import { displayLocation, type Location } from '../../model/diagnostic.ts';
import { displayPath, parseFieldPath } from '../../model/field-path.ts';
import { quote } from '../../model/ids.ts';
import { displayKey, parseObjectKey } from '../../model/object-key.ts';
import { ok, problem, type Result } from '../../model/result.ts';
import type { ExplanationStep, FieldView } from '../../server/api.ts';
import type { SourceTable } from '../source-table.ts';
import type { Locator } from './locator.ts';

/** What an explanation is made from. */
export interface ExplainDeps {
  readonly engine: Engine;
  readonly sources: SourceTable;
  readonly locator: Locator;
}

/** A reason in words, with the line that it stands in. */
export async function stepOf(deps: ExplainDeps, reason: Reason): Promise<ExplanationStep> {
  switch (reason.type) {
    case 'declares': {
      const note = reason.counts ? 'declares it' : 'declares it too, and does not count';
      return { kind: 'manifest', name: titleOf(reason.at.identity), at: await placeOf(deps, reason.at), note };
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
      return { kind: reason.kind, name: reason.name, at: await placeOf(deps, reason.at), note: reason.part };
    case 'live':
      return { kind: 'live object', name: displayKey(reason.key), at: `cluster ${reason.cluster}`, note: reason.part };
    case 'object': {
      const { state, message } = reason.progress;
      const note = message === '' ? state : `${state}: ${message}`;
      return { kind: 'object', name: displayKey(reason.key), at: `cluster ${reason.cluster}`, note };
    }
    case 'scope':
      return { kind: 'cluster', name: reason.cluster, at: '', note: 'it was computed from what lived there' };
  }
}

/** Where a field of a document stands; a problem if the text is no field. */
export async function fieldOf(deps: ExplainDeps, ref: DocumentRef, text: string): Promise<Result<FieldView>> {
  const path = parseFieldPath(text);
  if (!path.ok) return problem(`${quote(text)} ${path.problem}`);
  const { at, found } = await deps.locator.findField({ ...ref, field: path.value });
  return ok({ path: displayPath(path.value), at: displayPlace(deps, ref.source, at), found });
}

/** `path:line:column@revision` of a document, with the source's name before it if there are several. */
async function placeOf(deps: ExplainDeps, ref: Parameters<Locator['find']>[0]): Promise<string> {
  return displayPlace(deps, ref.source, await deps.locator.find(ref));
}

/** A place in a source, as people read it. */
export function displayPlace({ sources }: ExplainDeps, source: string, at: Location): string {
  const revision = sources.get(source)?.admitted?.revision;
  const prefix = sources.all().length > 1 ? `${source}:` : '';
  return `${prefix}${displayLocation(at)}${revision === undefined ? '' : `@${revision.slice(0, 12)}`}`;
}

/** A document's identity as people write it. */
function titleOf(identity: string): string {
  const key = parseObjectKey(identity.replace(/#\d+$/, ''));
  return key.ok ? displayKey(key.value) : identity;
}
