import type { Collection, Derived, Graph, Reader } from '../../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import type { ObjectKey } from '../../../../model/objects/object-key.ts';
import { type JsonValue, objectOf } from '../../../../model/text/json.ts';
import { type BoundShoot, clustersOf } from '../binding.ts';
import { DEPLOYMENT_KIND } from '../objects/components.ts';
import { isAsleep, SLEEPS, type Sleep, wasSeenAsleep } from '../sleep.ts';
import type { Cause, ConditionFinding } from '../thresholds.ts';
import { type ClusterReads, namespaceObstacle, notChecked, obstacleOf } from '../visibility.ts';
import { lastOperationOf } from '../written-operation.ts';

/**
 * What comes before every check of a Shoot. `closed`: all conditions have this finding. `unseen`: the finding says why the
 * API server cannot be judged. `down`: it does not run, and `message` says so. `open`: nothing is in the way.
 */
export type Gate =
  | { readonly type: 'closed' | 'unseen'; readonly finding: ConditionFinding }
  | { readonly type: 'down'; readonly message: string; readonly cause: Cause }
  | { readonly type: 'open' };

interface Reads extends ClusterReads, Pick<EngineInputs, 'live' | 'kinds' | 'observed'> {
  readonly bindings: Derived<BoundShoot>;
  readonly sleepers: Derived<Sleep>;
  readonly settings: Collection<JsonValue>;
}

/** Derives the gate of each Shoot that is cared for. Partition empty, key the Shoot's. */
export function deriveGates(graph: Graph, reads: Reads): Derived<Gate> {
  const { bindings, sleepers, settings, clusters, agents, snapshots, live, kinds, observed } = reads;
  return graph.derive<BoundShoot, Gate>({
    name: 'gatesOfShoots',
    from: bindings,
    reads: [sleepers, settings, clusters, agents, snapshots, live, kinds, observed],
    scope: ({ value }) => clustersOf(value),
    compute: ({ key, value: shoot }, read, emit) => {
      if (!shoot.isIgnored) emit('', key, gateOf(read, key, shoot, reads));
    },
  });
}

function gateOf(read: Reader, key: string, shoot: BoundShoot, reads: Reads): Gate {
  const obstacle = obstacleOf(read, shoot, reads, wasSeenAsleep(read, reads.sleepers, key));
  if (obstacle !== undefined) return { type: 'closed', finding: notChecked(obstacle) };
  if (isAsleep(read, reads.sleepers, key)) return { type: 'closed', finding: SLEEPS };
  const { seed, controlPlaneNamespace: namespace } = shoot;
  if (seed === undefined) return { type: 'open' };
  const unseen = namespaceObstacle(read, reads, seed, namespace, DEPLOYMENT_KIND);
  if (unseen !== undefined) return { type: 'unseen', finding: unseen };
  const apiServer = `${DEPLOYMENT_KIND}/${namespace}/kube-apiserver` as ObjectKey;
  if (isRunning(read, reads, seed, apiServer)) return { type: 'open' };
  const operation = lastOperationOf(read.get(reads.observed, 'Shoot', key));
  return { type: 'down', message: whileDown(operation?.type ?? 'Create'), cause: { cluster: seed, key: apiServer } };
}

/** Source: Gardener's care controller. */
function whileDown(operation: string): string {
  if (operation === 'Create') return 'Shoot control plane has not been fully created yet.';
  if (operation === 'Delete') return 'Shoot control plane has already been or is about to be deleted.';
  return 'Shoot control plane is not running at the moment.';
}

function isRunning(read: Reader, { live }: Pick<Reads, 'live'>, seed: string, key: ObjectKey): boolean {
  const deployment = read.get(live, seed, key)?.value;
  if (deployment === undefined) return false;
  const { replicas } = objectOf(deployment.spec);
  return objectOf(deployment.metadata).deletionTimestamp === undefined && typeof replicas === 'number' && replicas > 0;
}
