import type { Collection, Reader } from '../../../engine/collections/types.ts';
import type { FleetPolicy } from '../../../model/fleet/desired.ts';
import { kindAsInKeys, type PolicySection } from '../../../model/fleet/fleet-policy.ts';
import type { LabelSelector } from '../../../model/objects/label-selector.ts';
import type { JsonValue } from '../../../model/text/json.ts';
import { type CareSettings, careDefaults } from '../model/settings.ts';

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
export function careSettings({ care = careDefaults, discovery }: FleetPolicy): CareSettingsRead {
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

/** The server decides whether a repository may switch on what changes webhooks of others. */
export const careSection: PolicySection = {
  name: 'care',
  bound: (policy, { webhookRemediator }, cuts) => {
    if (policy.care?.webhookRemediatorEnabled !== true || webhookRemediator) return policy;
    cuts.push({
      field: ['spec', 'care', 'webhookRemediatorEnabled'],
      message: 'care.webhookRemediatorEnabled is true, the server allows false',
    });
    return { ...policy, care: { ...policy.care, webhookRemediatorEnabled: false } };
  },
};

function selects(selector: LabelSelector | undefined): boolean {
  if (selector === undefined) return false;
  return Object.keys(selector.matchLabels).length > 0 || selector.matchExpressions.length > 0;
}

/** The settings of care in a computation. */
export function careSettingsOf(read: Reader, settings: Collection<JsonValue>): CareSettingsRead {
  // They are what `careSettings` has selected.
  return read.get(settings, '', '') as unknown as CareSettingsRead;
}
