import type { Collection, Reader } from '../../../engine/collections/types.ts';
import type { CareSettings, FleetPolicy } from '../../../model/desired.ts';
import { kindAsInKeys } from '../../../model/fleet-policy.ts';
import type { JsonValue } from '../../../model/json.ts';
import type { LabelSelector } from '../../../model/label-selector.ts';

/** The part of the policy that care reads. */
export interface CareSettingsRead extends Omit<CareSettings, 'conditionThresholds'> {
  /** By type of condition, in milliseconds. */
  readonly thresholds: Readonly<Record<string, number>>;
  readonly excludedNamespaces: readonly string[];
  /** As `group/Kind`. */
  readonly excludedKinds: readonly string[];
  /** Only some Namespaces are discovered, by their labels. */
  readonly selectsNamespaces: boolean;
  /** Only some objects are discovered, by their labels. */
  readonly selectsObjects: boolean;
}

/** Selects from the policy what care reads. */
export function careSettings({ care, discovery }: FleetPolicy): CareSettingsRead {
  const { conditionThresholds, ...rest } = care;
  return {
    ...rest,
    thresholds: Object.fromEntries(conditionThresholds.map(({ type, millis }) => [type, millis])),
    excludedNamespaces: discovery.excludedNamespaces,
    excludedKinds: discovery.excludedKinds.map(kindAsInKeys),
    selectsNamespaces: selects(discovery.namespaceSelector),
    selectsObjects: selects(discovery.objectSelector),
  };
}

function selects(selector: LabelSelector | undefined): boolean {
  if (selector === undefined) return false;
  return Object.keys(selector.matchLabels).length > 0 || selector.matchExpressions.length > 0;
}

/** The settings of care in a computation. */
export function careSettingsOf(read: Reader, settings: Collection<JsonValue>): CareSettingsRead {
  // They are what `careSettings` has selected.
  return read.get(settings, '', '') as unknown as CareSettingsRead;
}
