import type { CareSettings, FleetPolicy } from '../../model/desired.ts';

/** The part of the policy that care reads. */
export interface CareSettingsRead extends Omit<CareSettings, 'conditionThresholds'> {
  /** By type of condition, in milliseconds. */
  readonly thresholds: Readonly<Record<string, number>>;
  readonly excludedNamespaces: readonly string[];
}

/** Selects from the policy what care reads. */
export function careSettings({ care, discovery: { excludedNamespaces } }: FleetPolicy): CareSettingsRead {
  const { conditionThresholds, ...rest } = care;
  const thresholds = Object.fromEntries(conditionThresholds.map(({ type, millis }) => [type, millis]));
  return { ...rest, thresholds, excludedNamespaces };
}
