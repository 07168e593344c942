import type { FleetPolicy } from '../../model/desired.ts';

/** The part of the policy that care reads. */
export interface CareSettingsRead {
  /** By type of condition, in milliseconds. */
  readonly thresholds: Readonly<Record<string, number>>;
  readonly monitorPeriodMillis: number;
  readonly excludedNamespaces: readonly string[];
}

/** Selects from the policy what care reads. */
export function careSettings({ care, discovery: { excludedNamespaces } }: FleetPolicy): CareSettingsRead {
  const thresholds = Object.fromEntries(care.conditionThresholds.map(({ type, millis }) => [type, millis]));
  return { thresholds, monitorPeriodMillis: care.monitorPeriodMillis, excludedNamespaces };
}
