import type { Graph, Index, Reader } from '../../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import type { LiveObject } from '../../../../model/agent/agent.ts';
import { annotationOf, type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, textsOf } from '../../../../model/text/json.ts';
import { firstNames } from '../../../../model/text/messages.ts';
import type { BoundShoot } from '../binding.ts';
import { controlPlaneOf } from '../checks/control-plane-parts.ts';
import {
  MACHINE_DEPLOYMENT_KIND,
  type PreservedMachinesReads,
  preservedMachines,
} from '../checks/every-node-ready/machines.ts';
import { MANAGED_RESOURCE_KIND } from '../objects/managed-resources.ts';
import type { ConditionFinding } from '../thresholds.ts';
import { type NamespaceReads, namespaceObstacle } from '../visibility.ts';

/** The annotation by which Gardener's resource manager leaves a ManagedResource alone. */
const IGNORE = 'resources.gardener.cloud/ignore';
/** What Go's `strconv.ParseBool` takes for true. */
const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** The most objects or pools that a message names. */
const MOST_NAMED = 50;

/** What the constraints about a control plane read. */
export interface SeedReads extends NamespaceReads, PreservedMachinesReads {
  /** The ManagedResources that are ignored, by Seed, and by Seed and namespace. */
  readonly ignored: Index<LiveObject>;
}

/** The collections and indexes of {@link SeedReads}, for the declaration of a derivation. */
export function seedReadsOf({ ignored, demands, preserving, live, kinds, settings }: SeedReads) {
  return [ignored, demands, preserving, live, kinds, settings];
}

/** Groups the ManagedResources that are ignored; most Shoots have none. */
export function indexIgnoredResources(graph: Graph, { live }: Pick<EngineInputs, 'live'>): Index<LiveObject> {
  return graph.index('ignoredManagedResources', live, ({ partition: seed, key, value }) => {
    if (!key.startsWith(`${MANAGED_RESOURCE_KIND}/`) || !TRUE.has(annotationOf(value.value, IGNORE))) return [];
    return [seed, `${seed}/${objectRefOf(key as ObjectKey).namespace}`];
  });
}

/** Whether a ManagedResource of the control plane is not reconciled; undefined: no Seed runs one. */
export function ignoredFinding(read: Reader, reads: SeedReads, shoot: BoundShoot): ConditionFinding | undefined {
  const controlPlane = controlPlaneOf(shoot);
  if (controlPlane === undefined) return undefined;
  const { seed, namespace } = controlPlane;
  const place = `${seed}/${namespace}`;
  // Most Seeds have no ignored ManagedResource: then no Shoot depends on the count of its own namespace.
  const count = read.count(reads.ignored, seed) === 0 ? 0 : read.count(reads.ignored, place);
  if (count === 0) return namespaceObstacle(read, reads, seed, namespace, MANAGED_RESOURCE_KIND);
  const found = read.first(reads.ignored, place, MOST_NAMED).map(({ key }) => key as ObjectKey);
  const names = firstNames(
    found.map((key) => objectRefOf(key).name),
    MOST_NAMED,
    count,
  );
  const message = `The annotation ${IGNORE} switches the reconciliation of some ManagedResources off: ${names}`;
  const [first] = found;
  const cause = first === undefined ? {} : { cause: { cluster: seed, key: first } };
  return { outcome: 'failed', reason: 'ManagedResourcesIgnored', message, ...cause };
}

/** Whether machine-controller-manager keeps Machines that have failed; undefined: the Shoot has none. */
export function preservationFinding(read: Reader, reads: SeedReads, shoot: BoundShoot): ConditionFinding | undefined {
  const controlPlane = controlPlaneOf(shoot);
  if (controlPlane === undefined || shoot.pools.length === 0) return undefined;
  const { seed, namespace } = controlPlane;
  const count = preservedMachines(read, reads, controlPlane);
  if (count === 0) return namespaceObstacle(read, reads, seed, namespace, MACHINE_DEPLOYMENT_KIND);
  const message = `Cluster has ${count} preserved failed machine(s).`;
  return { outcome: 'failed', reason: 'FailedMachinesPreserved', message };
}

/** Whether pools wait for a person to update their Nodes, as the status written last says; undefined: none does. */
export function manualUpdateFinding(
  fields: JsonObject,
  { pools }: Pick<BoundShoot, 'pools'>,
): ConditionFinding | undefined {
  const { pendingWorkerUpdates } = objectOf(fields.inPlaceUpdates);
  const waiting = textsOf(objectOf(pendingWorkerUpdates).manualInPlaceUpdate);
  if (pools.length === 0 || waiting.length === 0) return undefined;
  const names = firstNames(waiting, MOST_NAMED);
  const message = `Worker pools with the update strategy ManualInPlaceUpdate wait for their update: ${names}`;
  return { outcome: 'failed', reason: 'WorkerPoolsWithManualInPlaceUpdateStrategyPending', message };
}
