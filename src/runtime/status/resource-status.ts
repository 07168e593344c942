import type { Declared } from '../../engine/fleet/declared.ts';
import type { Engine } from '../../engine/graph.ts';
import { clusterStatus } from '../../engine/status/clusters.ts';
import type { ConditionValue } from '../../engine/status/conditions.ts';
import type { PlacementStatus } from '../../engine/status/placements.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import { engineKindOf, engineKinds } from '../../model/engine-kinds.ts';
import type { JsonObject } from '../../model/json.ts';
import { type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import type { OutcomeCounts } from '../../model/outcome.ts';
import type { Origin } from '../../model/output.ts';

/** A custom resource as the file of a source that it is. */
export interface ResourceSubject extends Origin {
  readonly key: ObjectKey;
  /** Of the version of it that has entered. */
  readonly generation: number;
  /** What is said about its file. */
  readonly diagnostics: readonly Diagnostic[];
}

/** What is to be said of a custom resource. */
export interface RenderedStatus {
  readonly conditions: readonly ConditionValue[];
  /** Beside the conditions. */
  readonly fields: JsonObject;
}

/** The types of conditions in the status of a custom resource that are ours. */
export function ownConditionsOf(key: ObjectKey): readonly string[] {
  const { group, kind } = objectRefOf(key);
  const id = engineKindOf(group, kind);
  return id === undefined ? [] : engineKinds[id].ownConditions;
}

/** The status of a custom resource that has entered, by what the engine knows. */
export function renderResourceStatus(
  engine: Engine,
  subject: ResourceSubject,
  placements: (name: string) => PlacementStatus | undefined,
): RenderedStatus {
  const rendered = render(engine, subject, placements);
  // What Kuma and Gardener define has fields of their own, which their controllers write.
  if (isForeign(subject.key)) return rendered;
  return { ...rendered, fields: { observedGeneration: subject.generation, ...rendered.fields } };
}

function isForeign(key: ObjectKey): boolean {
  const { group, kind } = objectRefOf(key);
  const id = engineKindOf(group, kind);
  return id === undefined || engineKinds[id].isForeign;
}

function render(
  engine: Engine,
  subject: ResourceSubject,
  placements: (name: string) => PlacementStatus | undefined,
): RenderedStatus {
  const { kind, name } = objectRefOf(subject.key);
  switch (kind) {
    case 'KubernetesCluster': {
      const status = clusterStatus(engine, name);
      return declaredStatus(engine, subject, engine.clusters.get('', name), status && withCounts(status));
    }
    case 'Placement': {
      const status = placements(name);
      const fields = status && { selectedClusters: status.selectedClusters };
      const declared = engine.declarations.get('Placement', name);
      return declaredStatus(engine, subject, declared, status && withCounts(status, fields));
    }
    case 'ServiceMirror': {
      const declared = engine.declarations.get('ServiceMirror', name);
      return declaredStatus(engine, subject, declared, engine.statuses.get('ServiceMirror', name));
    }
    case 'FleetPolicy':
      return declaredStatus(engine, subject, engine.policy.get('', ''), { conditions: [], fields: {} });
    default:
      return { conditions: [acceptedCondition(engine, subject)], fields: {} };
  }
}

function withCounts(
  { conditions, counts }: { readonly conditions: readonly ConditionValue[]; readonly counts: OutcomeCounts },
  fields: JsonObject = {},
): RenderedStatus {
  const { targeted, applied, failed, held, pending, unreachable } = counts;
  return { conditions, fields: { ...fields, counts: { targeted, applied, failed, held, pending, unreachable } } };
}

/** Of what is declared by name: only the declaration that counts has a status beyond that. */
function declaredStatus(
  engine: Engine,
  subject: ResourceSubject,
  declared: Declared | undefined,
  status: RenderedStatus | undefined,
): RenderedStatus {
  const accepted = acceptedCondition(engine, subject);
  const isOurs = declared?.origin.source === subject.source && declared.origin.path === subject.path;
  if (isOurs && status !== undefined) return { ...status, conditions: [accepted, ...status.conditions] };
  if (accepted.status !== 'True' || declared === undefined) return notReady(accepted);
  const { source, path } = declared.origin;
  const message = `${source}:${path} declares the same and came first; this one does not count`;
  return notReady({ type: 'Accepted', status: 'False', reason: 'Conflict', message });
}

function notReady(accepted: ConditionValue): RenderedStatus {
  const { status, reason, message } = accepted;
  const stalled: ConditionValue = { type: 'Stalled', status: status === 'False' ? 'True' : 'False', reason, message };
  return { conditions: [accepted, { type: 'Ready', status: 'False', reason, message }, stalled], fields: {} };
}

function acceptedCondition(
  engine: Engine,
  { source, path, diagnostics }: Pick<ResourceSubject, 'source' | 'path' | 'diagnostics'>,
): ConditionValue {
  const type = 'Accepted';
  const file = engine.inputs.files.get(source, path);
  if (file === undefined) return { type, status: 'Unknown', reason: 'NotEntered', message: 'it has not entered yet' };
  const message = diagnostics.map(sentenceOf).join('; ');
  if (!file.readable) return { type, status: 'False', reason: 'Invalid', message };
  // What is only warned of takes effect all the same.
  return { type, status: 'True', reason: diagnostics.length === 0 ? 'Accepted' : 'AcceptedWithWarnings', message };
}

function sentenceOf({ message, hint }: Diagnostic): string {
  return hint === undefined ? message : `${message} (${hint})`;
}
