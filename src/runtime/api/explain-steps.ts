import type { ExplanationStep } from '../../api/server-api.ts';
import type { EngineDiagnostic, Fact, Reason } from '../../engine/domain.ts';
import { displayLocation, type Location } from '../../model/fleet/diagnostic.ts';
import { findings as codes } from '../../model/fleet/findings.ts';
import { displayKey, parseObjectKey } from '../../model/objects/object-key.ts';
import type { SourceTable } from '../source-table.ts';
import type { Locator } from './locator.ts';

/** What displaying a step needs. */
export interface StepDeps {
  readonly sources: Pick<SourceTable, 'all' | 'get'>;
  readonly locator: Locator;
}

/** Displays a finding of the engine. */
export async function findingStep(deps: StepDeps, finding: EngineDiagnostic): Promise<ExplanationStep> {
  const [first] = finding.at;
  const at = first === undefined ? '' : await placeOf(deps, first);
  return { kind: 'finding', name: codes[finding.reason].code, at, note: finding.message };
}

/** Displays a reason or a fact, with its line. */
export async function stepOf(deps: StepDeps, reason: Reason | Fact): Promise<ExplanationStep> {
  switch (reason.type) {
    case 'declares': {
      const note = reason.counts ? 'declares it' : 'declares it too, and does not count';
      return { kind: 'manifest', name: titleOf(reason.at.identity), at: await placeOf(deps, reason.at), note };
    }
    case 'declared': {
      const at = `${reason.at.path} (${reason.at.source})`;
      return { kind: 'manifest', name: '', at, note: 'declared it when it was last accepted' };
    }
    case 'folder': {
      const note = `what lies under it goes to cluster ${reason.cluster}`;
      return { kind: 'folder rule', name: `clusters/${reason.cluster}/`, at: '', note };
    }
    case 'rule':
      return { kind: reason.kind, name: reason.name, at: await placeOf(deps, reason.at), note: reason.part };
    case 'live':
      return { kind: 'live object', name: displayKey(reason.key), at: `cluster ${reason.cluster}`, note: reason.part };
    case 'object': {
      const { state, message } = reason.progress;
      const note = message === '' ? state : `${state}: ${message}`;
      return { kind: 'object', name: displayKey(reason.key), at: `cluster ${reason.cluster}`, note };
    }
    case 'fact': {
      const { depth, kind, name, at, note } = reason;
      const place = at === undefined ? '' : 'cluster' in at ? `cluster ${at.cluster}` : await placeOf(deps, at);
      return { kind, name, at: place, note, ...(depth === 0 ? {} : { depth }) };
    }
    case 'scope':
      return { kind: 'cluster', name: reason.cluster, at: '', note: 'it was computed from what lived there' };
  }
}

/** Displays the place of a document or a value. */
async function placeOf(deps: StepDeps, ref: Parameters<Locator['find']>[0]): Promise<string> {
  return displayPlace(deps, ref.source, await deps.locator.find(ref));
}

/** Displays a location as `path:line:column@revision`, with the source's name before it if there are several sources. */
export function displayPlace({ sources }: StepDeps, source: string, at: Location): string {
  const revision = sources.get(source)?.admitted?.revision;
  const prefix = sources.all().length > 1 ? `${source}:` : '';
  return `${prefix}${displayLocation(at)}${revision === undefined ? '' : `@${revision.slice(0, 12)}`}`;
}

/** Displays a document's identity. */
function titleOf(identity: string): string {
  const key = parseObjectKey(identity.replace(/#\d+$/, ''));
  return key.ok ? displayKey(key.value) : identity;
}
