import type { Collection, Derived, Graph, Reader } from '../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../engine/inputs.ts';
import type { StatusPart } from '../../../engine/status/declared-status.ts';
import {
  type ConditionValue,
  type ObservedStatus,
  readConditions,
  withoutTimes,
} from '../../../model/fleet/conditions.ts';
import { type JsonObject, objectOf, objectsOf } from '../../../model/text/json.ts';
import { given } from '../../../model/values/given.ts';
import { isOfGardener, SHOOT_CARETAKER, SHOOT_CONDITIONS } from '../model/shoot.ts';
import { type LabelledShootStatus, STATUS_LABEL, shootStatusLabel } from '../model/shoot-status-label.ts';
import type { BoundShoot } from './binding.ts';
import { isOwnConstraint } from './constraints/constraints.ts';
import type { ShootOperation } from './operation/operations.ts';
import { type AnsweredRequest, type DeclaredRequest, OPERATION_ANNOTATION } from './operation/requests.ts';
import type { Judged } from './thresholds.ts';
import { lastOperationOf } from './written-operation.ts';

interface Reads extends Pick<EngineInputs, 'observed' | 'agents' | 'fleet'> {
  readonly bindings: Derived<BoundShoot>;
  readonly gone: Derived<BoundShoot>;
  readonly hibernated: Derived<boolean>;
  readonly operations: Derived<ShootOperation>;
  readonly declarationErrors: Derived<JsonObject>;
  readonly declaredRequests: Derived<DeclaredRequest>;
  readonly answeredRequests: Collection<AnsweredRequest>;
  readonly conditions: Derived<Judged>;
  readonly constraints: Derived<readonly Judged[]>;
}

/** Derives the status of each declared Shoot, and of those that are being deleted. */
export function deriveShootStatuses(graph: Graph, reads: Reads): Derived<StatusPart> {
  const { bindings, hibernated, operations, declaredRequests, answeredRequests, conditions, constraints, observed } =
    reads;
  return graph.derive<BoundShoot, StatusPart>({
    name: 'shootStatuses',
    from: [bindings, reads.gone],
    reads: [
      bindings,
      reads.fleet,
      reads.agents,
      hibernated,
      operations,
      declaredRequests,
      answeredRequests,
      conditions,
      constraints,
      observed,
      reads.declarationErrors,
    ],
    seesAll: true,
    compute: ({ key, value: shoot }, read, emit) => {
      const written = read.get(observed, 'Shoot', key);
      if (shoot.isOfGardener || (written !== undefined && isOfGardener(written.fields))) {
        emit('Shoot', key, { conditions: [], fields: {}, isOfOthers: true });
        return;
      }
      const part = shoot.isIgnored ? asWritten(written) : partOf(read, key, shoot, written, reads);
      const isGone = read.get(bindings, '', key) === undefined;
      emit('Shoot', key, isGone ? { ...part, subject: { namespace: shoot.namespace, name: shoot.name } } : part);
    },
  });
}

/** A Shoot that is not cared for keeps the status that it has. */
function asWritten(written: ObservedStatus | undefined): StatusPart {
  const { conditions, fields } = written ?? { conditions: [], fields: {} };
  if (conditions.length === 0 && Object.keys(fields).length === 0) return { conditions, fields };
  const labels = labelsFor({
    conditions,
    lastErrors: objectsOf(fields.lastErrors),
    lastOperation: lastOperationOf(written),
  });
  return { conditions, fields, labels };
}

function constraintsOfOthers(written: ObservedStatus | undefined): readonly ConditionValue[] {
  return readConditions(written?.fields.constraints)
    .filter(({ type }) => !isOwnConstraint(type))
    .map(withoutTimes);
}

function labelsFor(status: LabelledShootStatus): Readonly<Record<string, string>> {
  return { [STATUS_LABEL]: shootStatusLabel(status) };
}

function partOf(
  read: Reader,
  key: string,
  { cluster, controlPlaneNamespace }: BoundShoot,
  written: ObservedStatus | undefined,
  reads: Reads,
): StatusPart {
  const { operation, errors, cycleStart, seedName } = read.get(reads.operations, '', key) ?? { errors: [] };
  const conditions = SHOOT_CONDITIONS.flatMap((each) => read.get(reads.conditions, each, key)?.condition ?? []);
  const foreign = (written?.conditions ?? []).filter((one) => !SHOOT_CONDITIONS.some((own) => own === one.type));
  const constraints = read.get(reads.constraints, '', key) ?? [];
  const lastErrors: readonly JsonObject[] = [
    ...[read.get(reads.declarationErrors, '', key) ?? []].flat(),
    ...errors.map(({ codes, ...error }) => ({ ...error, ...(codes.length === 0 ? {} : { codes }) })),
  ];
  return {
    conditions,
    ...(foreign.length === 0 ? {} : { othersConditions: foreign }),
    conditionLists: {
      constraints: [...constraintsOfOthers(written), ...constraints.map(({ condition }) => condition)],
    },
    fields: {
      ...identities(read, cluster, written, reads),
      technicalID: controlPlaneNamespace,
      ...given({ seedName }),
      hibernated: read.get(reads.hibernated, '', key) ?? false,
    },
    timedFields: {
      ...(operation === undefined ? {} : { lastOperation: { ...operation } }),
      ...(lastErrors.length === 0 ? {} : { lastErrors }),
    },
    moments: given({ retryCycleStartTime: cycleStart }),
    absentFields: [
      ...(lastErrors.length === 0 ? ['lastErrors'] : []),
      ...(cycleStart === undefined ? ['retryCycleStartTime'] : []),
    ],
    labels: labelsFor({ lastOperation: operation, lastErrors, conditions: [...conditions, ...foreign] }),
    removeAnnotations: answeredAnnotation(read, key, reads),
  };
}

/** Who cares for the Shoot, and the id of its cluster. What is not known now stays as written. */
function identities(
  read: Reader,
  cluster: string,
  written: ObservedStatus | undefined,
  { fleet, agents }: Reads,
): JsonObject {
  const before = objectOf(written?.fields.gardener);
  const { fleet: id = before.id, version = before.version } = read.get(fleet, '', '') ?? {};
  const clusterIdentity = read.get(agents, '', cluster)?.id ?? written?.fields.clusterIdentity;
  return {
    gardener: { ...given({ id }), name: SHOOT_CARETAKER, ...given({ version }) },
    ...given({ clusterIdentity }),
  };
}

/** The annotation that has asked for an operation, once it is answered. */
function answeredAnnotation(
  read: Reader,
  key: string,
  { declaredRequests, answeredRequests }: Reads,
): Readonly<Record<string, string>> {
  const annotation = read.get(declaredRequests, '', key)?.annotation ?? '';
  const isAnswered = annotation !== '' && read.get(answeredRequests, '', key)?.annotation === annotation;
  return isAnswered ? { [OPERATION_ANNOTATION]: annotation } : {};
}
