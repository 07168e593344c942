import type { ObservedStatus } from '../../model/conditions.ts';
import { type JsonObject, objectOf, objectsOf } from '../../model/json.ts';
import { isOfGardener, SHOOT_CARETAKER, SHOOT_CONDITIONS } from '../../model/shoot.ts';
import { type LabelledShootStatus, STATUS_LABEL, shootStatusLabel } from '../../model/shoot-status-label.ts';
import type { Derived, Graph, Index, Reader } from '../collections/types.ts';
import type { AfterProgress } from '../domain.ts';
import type { EngineInputs } from '../inputs.ts';
import type { StatusPart } from '../status/declared-status.ts';
import type { Progress } from '../status/progress.ts';
import type { BoundShoot } from './binding.ts';
import {
  type LastOperation,
  lastOperationOf,
  operationOf,
  pendingOperation,
  taskGroups,
  tasksIn,
} from './operation.ts';
import type { Sleep } from './sleep.ts';
import type { Finding, Judged } from './thresholds.ts';
import { type ClusterReads, obstacleOf } from './visibility.ts';

interface Reads extends ClusterReads, Pick<EngineInputs, 'observed' | 'fleet'> {
  readonly bindings: Derived<BoundShoot>;
  readonly sleepers: Derived<Sleep>;
  readonly hibernated: Derived<boolean>;
  readonly apiServer: Derived<Finding>;
  readonly conditions: Derived<Judged>;
  readonly constraints: Derived<readonly Judged[]>;
}

/** Derives the status of each declared Shoot. */
export function deriveShootStatuses(graph: Graph, { progress }: AfterProgress, reads: Reads): Derived<StatusPart> {
  const { bindings, sleepers, hibernated, clusters, agents, snapshots, apiServer, conditions, constraints, observed } =
    reads;
  const tasks = graph.index('tasksOfShoots', progress, taskGroups);
  return graph.derive<BoundShoot, StatusPart>({
    name: 'shootStatuses',
    from: bindings,
    reads: [
      reads.fleet,
      sleepers,
      hibernated,
      clusters,
      agents,
      snapshots,
      apiServer,
      conditions,
      constraints,
      observed,
      tasks,
    ],
    seesAll: true,
    compute: ({ key, value: shoot }, read, emit) => {
      const written = read.get(observed, 'Shoot', key);
      if (shoot.isOfGardener || (written !== undefined && isOfGardener(written.fields))) {
        emit('Shoot', key, { conditions: [], fields: {}, isOfOthers: true });
        return;
      }
      emit('Shoot', key, shoot.isIgnored ? asWritten(written) : partOf(read, key, shoot, written, tasks, reads));
    },
  });
}

/** A Shoot that is not cared for keeps the status that it has. */
function asWritten(written: ObservedStatus | undefined): StatusPart {
  if (written === undefined) return { conditions: [], fields: {} };
  const { conditions, fields } = written;
  const labels = labelsFor({
    conditions,
    lastErrors: objectsOf(fields.lastErrors),
    lastOperation: lastOperationOf(written),
  });
  return { conditions, fields, labels };
}

function labelsFor(status: LabelledShootStatus): Readonly<Record<string, string>> {
  return { [STATUS_LABEL]: shootStatusLabel(status) };
}

function partOf(
  read: Reader,
  key: string,
  shoot: BoundShoot,
  written: ObservedStatus | undefined,
  tasks: Index<Progress>,
  reads: Reads,
): StatusPart {
  const { cluster, seed, controlPlaneNamespace } = shoot;
  const last = lastOperationOf(written);
  const obstacle = obstacleOf(read, shoot, reads);
  const places = [[cluster], ...(seed === undefined || seed === cluster ? [] : [[seed, controlPlaneNamespace]])];
  const answers = read.get(reads.apiServer, 'APIServerAvailable', key)?.outcome === 'good';
  const { type, state, progress, description } =
    isResting(read.get(reads.sleepers, '', key), last) || (obstacle !== undefined && last !== undefined)
      ? last
      : obstacle === undefined
        ? operationOf(last, tasksIn(read, tasks, places), answers)
        : pendingOperation(obstacle);
  const conditions = SHOOT_CONDITIONS.flatMap((each) => read.get(reads.conditions, each, key)?.condition ?? []);
  const foreign = (written?.conditions ?? []).filter((one) => !SHOOT_CONDITIONS.some((own) => own === one.type));
  const lastOperation: JsonObject = { type, state, progress, description };
  return {
    conditions,
    conditionLists: { constraints: (read.get(reads.constraints, '', key) ?? []).map(({ condition }) => condition) },
    fields: {
      ...identities(read, cluster, written, reads),
      technicalID: controlPlaneNamespace,
      ...(seed === undefined ? {} : { seedName: seed }),
      hibernated: read.get(reads.hibernated, '', key) ?? false,
    },
    timedFields: { lastOperation },
    labels: labelsFor({ lastOperation: { type, state }, lastErrors: [], conditions: [...conditions, ...foreign] }),
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
    gardener: {
      ...(id === undefined ? {} : { id }),
      name: SHOOT_CARETAKER,
      ...(version === undefined ? {} : { version }),
    },
    ...(clusterIdentity === undefined ? {} : { clusterIdentity }),
  };
}

/** No operation begins in a cluster that sleeps; one that runs goes on. */
function isResting(sleep: Sleep | undefined, last: LastOperation | undefined): last is LastOperation {
  return sleep?.isWanted === true && sleep.isSeen && last !== undefined && last.state !== 'Processing';
}
