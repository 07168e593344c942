import type { ViewFilter } from '../../../model/fleet/view-filter.ts';
import { metadataOf } from '../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, textOf } from '../../../model/text/json.ts';
import type { ShootCondition } from '../model/shoot.ts';
import type { ShownShoot } from './shown-shoots.ts';

/** The rows of Shoots: a member for each column of Gardener's list, with its text. */
export function shootRows(shoots: readonly ShownShoot[], { cluster }: ViewFilter = {}): readonly JsonObject[] {
  return shoots.filter((shoot) => cluster?.some((name) => isOf(shoot, name)) ?? true).map(shootRow);
}

/** A declared Shoot belongs to its cluster and its Seed, a live one to the cluster where it is live. */
function isOf({ binding, liveIn }: ShownShoot, cluster: string): boolean {
  return [binding?.cluster, binding?.seed, liveIn?.cluster].includes(cluster);
}

/** The row of a Shoot. Source of its texts: Gardener's table of Shoots. */
export function shootRow(shoot: ShownShoot): JsonObject {
  const { namespace, name, liveIn, binding, value, conditions, fields, label } = shoot;
  const spec = objectOf(value.spec);
  const conditionText = (type: ShootCondition): string =>
    conditions.find((condition) => condition.type === type)?.status ?? UNKNOWN;
  const created = textOf(metadataOf(value).creationTimestamp);
  return {
    namespace,
    name,
    cluster: binding?.cluster ?? liveIn?.cluster ?? '',
    cloudProfile: cloudProfileOf(namespace, spec),
    provider: textOf(objectOf(spec.provider).type),
    region: textOf(spec.region),
    seed: textOf(spec.seedName) || NONE,
    k8sVersion: textOf(objectOf(spec.kubernetes).version),
    hibernation: hibernationText(objectOf(spec.hibernation).enabled === true, fields.hibernated === true),
    lastOperation: operationText(objectOf(fields.lastOperation)),
    status: label ?? PENDING,
    purpose: textOf(spec.purpose) || NONE,
    gardenerVersion: textOf(objectOf(fields.gardener).version) || UNKNOWN,
    apiServer: conditionText('APIServerAvailable'),
    control: conditionText('ControlPlaneHealthy'),
    observability: conditionText('ObservabilityComponentsHealthy'),
    nodes: conditionText('EveryNodeReady'),
    system: conditionText('SystemComponentsHealthy'),
    ...(created === '' ? {} : { creationTimestamp: created }),
    ...(liveIn === undefined ? {} : { live: true }),
    ...(liveIn?.isStale === true ? { stale: true } : {}),
  };
}

const PENDING = '<pending>';
const UNKNOWN = '<unknown>';
const NONE = '<none>';

function cloudProfileOf(namespace: string, { cloudProfile, cloudProfileName }: JsonObject): string {
  const { kind, name } = objectOf(cloudProfile);
  if (kind === 'NamespacedCloudProfile') return `${namespace}/${textOf(name)}`;
  return textOf(name) || textOf(cloudProfileName);
}

function hibernationText(isWanted: boolean, isSeen: boolean): string {
  if (isWanted) return isSeen ? 'Hibernated' : 'Hibernating';
  return isSeen ? 'Waking Up' : 'Awake';
}

function operationText({ type, state, progress }: JsonObject): string {
  if (typeof state !== 'string') return PENDING;
  return `${textOf(type)} ${state} (${typeof progress === 'number' ? progress : 0}%)`.trimStart();
}
