import type { Collection, Derived, Graph } from '../../../engine/collections/types.ts';
import type { Declarations } from '../../../engine/fleet/declared.ts';
import type { EngineInputs } from '../../../engine/inputs.ts';
import type { StatusPart } from '../../../engine/status/declared-status.ts';
import type { LiveObject } from '../../../model/agent/agent.ts';
import {
  type Condition,
  type ConditionValue,
  type ObservedStatus,
  readConditions,
  readObserved,
} from '../../../model/fleet/conditions.ts';
import { type ObjectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import { compareText, type JsonObject, objectsOf } from '../../../model/text/json.ts';
import { given } from '../../../model/values/given.ts';
import { isOfGardener } from '../model/shoot.ts';
import { STATUS_LABEL, shootStatusLabel } from '../model/shoot-status-label.ts';
import type { BoundShoot } from './binding.ts';
import { lastOperationOf } from './written-operation.ts';

const SHOOT_KIND = 'core.gardener.cloud/Shoot';

/** A Shoot as people see it: a declared one, or a live one of a Gardener. */
export interface ShownShoot {
  readonly namespace: string;
  readonly name: string;
  /** Where a Shoot is live that no source declares. Absent: it is declared. */
  readonly liveIn?: { readonly cluster: string; readonly key: ObjectKey; readonly isStale: boolean };
  /** Of a declared one. */
  readonly binding?: BoundShoot & { readonly key: string };
  /** The whole object without its status. */
  readonly value: JsonObject;
  readonly conditions: readonly (ConditionValue | Condition)[];
  readonly constraints: readonly ConditionValue[];
  /** The other members of its status, `lastOperation` among them. */
  readonly fields: JsonObject;
  /** The value of {@link STATUS_LABEL}; absent: it has no status. */
  readonly label?: string;
}

/** What {@link shownShoots} reads. */
export interface ShownSources extends Pick<EngineInputs, 'agents' | 'live' | 'observed'> {
  readonly declarations: Declarations;
  readonly bindings: Collection<BoundShoot>;
  readonly statuses: Collection<StatusPart>;
  readonly undeclared: Collection<true>;
}

/** Derives which live Shoots no source declares: a Gardener cares for them. Partition: their cluster. Key: their object. */
export function deriveUndeclaredShoots(
  graph: Graph,
  { live }: Pick<EngineInputs, 'live'>,
  bindings: Derived<BoundShoot>,
): Derived<true> {
  return graph.derive<LiveObject, true>({
    name: 'undeclaredShoots',
    from: live,
    keys: (key) => key.startsWith(`${SHOOT_KIND}/`),
    reads: [bindings],
    compute: ({ partition: cluster, key }, read, emit) => {
      const { namespace, name } = objectRefOf(key as ObjectKey);
      const declared = namespace === '' ? name : `${namespace}/${name}`;
      if (read.get(bindings, '', declared) === undefined) emit(cluster, key, true);
    },
  });
}

/** All Shoots by namespace and name, of one name the declared one first. */
export function shownShoots(sources: ShownSources): readonly ShownShoot[] {
  const { bindings, undeclared } = sources;
  const declared = [...bindings.entries('')].flatMap(({ key, value }) => declaredShoot(sources, key, value) ?? []);
  const live = [...undeclared.partitions()].flatMap((cluster) =>
    [...undeclared.entries(cluster)].flatMap(({ key }) => liveShoot(sources, cluster, key as ObjectKey) ?? []),
  );
  return [...declared, ...live].sort(
    (a, b) =>
      compareText(a.namespace, b.namespace) ||
      compareText(a.name, b.name) ||
      compareText(a.liveIn?.cluster ?? '', b.liveIn?.cluster ?? ''),
  );
}

/** A declared Shoot; undefined: its declaration has ended. */
export function declaredShoot(
  { declarations, statuses, observed }: ShownSources,
  key: string,
  binding: BoundShoot,
): ShownShoot | undefined {
  const declared = declarations.get('Shoot', key);
  if (declared === undefined) return undefined;
  const { status, ...value } = declared.value;
  const { namespace, name } = binding;
  const identity = { namespace, name, value, binding: { ...binding, key } };
  const part = statuses.get('Shoot', key);
  const written = observed.get('Shoot', key);
  if (part?.isOfOthers === true) {
    // What fleetrelay wrote before a Gardener did is over.
    const isTheirs = written !== undefined && isOfGardener(written.fields);
    return { ...identity, ...othersStatus(isTheirs ? written : readObserved(status)) };
  }
  // Only the writer of custom resources knows it.
  const uid = written?.fields.uid;
  const { conditions = [], conditionLists = {}, fields = {}, timedFields = {}, labels = {} } = part ?? {};
  const label = labels[STATUS_LABEL];
  return {
    ...identity,
    conditions,
    // The status of a Shoot that is not cared for is as it was written.
    constraints: conditionLists.constraints ?? readConditions(fields.constraints),
    fields: { ...given({ uid }), ...fields, ...timedFields },
    ...given({ label }),
  };
}

function liveShoot({ live, agents }: ShownSources, cluster: string, key: ObjectKey): ShownShoot | undefined {
  const object = live.get(cluster, key);
  if (object === undefined) return undefined;
  const { status, ...value } = object.value;
  const { namespace, name } = objectRefOf(key);
  const isStale = agents.get('', cluster)?.connected !== true;
  return { namespace, name, liveIn: { cluster, key, isStale }, value, ...othersStatus(readObserved(status)) };
}

/** A status that another writes, with our label for it. */
function othersStatus(status: ObservedStatus = { conditions: [], fields: {} }) {
  const { conditions, fields } = status;
  const lastErrors = objectsOf(fields.lastErrors);
  const label = shootStatusLabel({ conditions, lastErrors, lastOperation: lastOperationOf(status) });
  return { conditions, constraints: readConditions(fields.constraints), fields, label };
}
