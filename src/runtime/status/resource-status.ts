import type { Engine } from '../../engine/graph.ts';
import { acceptedCondition, type DeclaredStatus, type StatusPart } from '../../engine/status/declared-status.ts';
import type { ConditionForm, ConditionValue } from '../../model/fleet/conditions.ts';
import { declarationKey, engineKindOf, engineKindRow } from '../../model/fleet/engine-kinds.ts';
import type { Origin } from '../../model/fleet/output.ts';
import { type ObjectKey, objectRefOf } from '../../model/objects/object-key.ts';
import type { StatusRules } from './status-rules.ts';

/** A custom resource, with its file in its source. */
export interface ResourceSubject extends Origin {
  readonly key: ObjectKey;
  /** The generation that was read. */
  readonly generation: number;
  readonly uid: string;
}

/** Returns the condition types in a custom resource's status that fleetrelay owns. */
export function ownConditionsOf(key: ObjectKey): readonly string[] {
  const { group, kind } = objectRefOf(key);
  const id = engineKindOf(group, kind);
  return id === undefined ? [] : engineKindRow(id).ownConditions;
}

/**
 * Returns the status of a custom resource: its declaration's status if the declaration is in force, else the reason why it is not.
 * Undefined: nothing is written, since others write the status, or it would only say that the declaration has not entered yet.
 */
export function statusOfResource(
  engine: Engine,
  rules: StatusRules,
  subject: ResourceSubject,
): (StatusPart & { readonly form: ConditionForm }) | undefined {
  const { group, kind, namespace, name } = objectRefOf(subject.key);
  const id = engineKindOf(group, kind);
  if (id === undefined) return { conditions: [], fields: {}, form: 'metav1' };
  const inForce = engine.statuses.get(id, declarationKey(id, { namespace, name }));
  const isOurs = inForce?.origin?.source === subject.source && inForce.origin.path === subject.path;
  const { isForeign, conditionForm: form = 'metav1', hasNoAccepted, hasIdentityInStatus } = engineKindRow(id);
  if (isOurs && inForce.isOfOthers === true) return undefined;
  if (!isOurs && hasNoAccepted === true) {
    const { status: accepted, message } = acceptedOf(engine, subject, inForce);
    if (accepted !== 'False') return undefined;
    return { conditions: [], fields: rules[id]?.refusal?.(message) ?? {}, form };
  }
  const status = isOurs ? inForce : statusNotInForce(engine, subject, inForce);
  // Kinds of other projects have status fields of their own, which their controllers write.
  if (isForeign && hasIdentityInStatus !== true) return { ...status, form };
  const { generation: observedGeneration, uid } = subject;
  const identity = { observedGeneration, ...(hasIdentityInStatus === true ? { uid } : {}) };
  return { ...status, form, fields: { ...identity, ...status.fields } };
}

/** Returns the status of a resource whose declaration is not in force: it is invalid, or another declaration won. */
function statusNotInForce(engine: Engine, subject: ResourceSubject, inForce: DeclaredStatus | undefined) {
  const own = ownConditionsOf(subject.key);
  const condition = acceptedOf(engine, subject, inForce);
  const { status, reason, message } = condition;
  const conditions: readonly ConditionValue[] = [
    condition,
    { type: 'Ready', status: 'False', reason, message },
    { type: 'Stalled', status: status === 'False' ? 'True' : 'False', reason, message },
  ];
  return { conditions: conditions.filter(({ type }) => own.includes(type)), fields: {} };
}

/** The condition `Accepted` of a resource whose declaration is not in force. */
function acceptedOf(
  engine: Engine,
  { source, path }: ResourceSubject,
  inForce: DeclaredStatus | undefined,
): ConditionValue {
  const accepted = acceptedCondition(engine.inputs.files.get(source, path));
  return accepted.status === 'True' ? (conflictWith(inForce) ?? accepted) : accepted;
}

function conflictWith(inForce: DeclaredStatus | undefined): ConditionValue | undefined {
  if (inForce?.origin === undefined) return undefined;
  const { source, path } = inForce.origin;
  const message = `${source}:${path} declares the same and came first; this one does not count`;
  return { type: 'Accepted', status: 'False', reason: 'Conflict', message };
}
