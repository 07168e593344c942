import type { ConditionValue } from '../../model/conditions.ts';
import type { FleetPolicy } from '../../model/desired.ts';
import { compareText } from '../../model/json.ts';
import type { Engine } from '../graph.ts';
import { asCommitted } from './lookups.ts';
import { causeOf, readersOf, type SafeModeCause } from './safe-mode-cause.ts';

/** That safe mode holds something, and why. */
export interface SafeModeStatus {
  readonly mode: FleetPolicy['safeMode']['mode'];
  /** In canonical order of the clusters; never empty. */
  readonly causes: readonly SafeModeCause[];
}

/** What safe mode holds up; undefined while every cluster that matters is seen. Cost follows the unseen clusters. */
export function safeModeStatus(engine: Engine): SafeModeStatus | undefined {
  const mode = engine.safeMode.mode.get('', '');
  if (mode === undefined) return undefined;
  const reads = { ledgerByScope: engine.indexes.ledgerByScope, readers: readersOf(engine.domains) };
  const causes = [...engine.safeMode.unseen.entries('')]
    .flatMap(({ key, value }) => causeOf(asCommitted, reads, mode, key, value) ?? [])
    .sort((a, b) => compareText(a.cluster, b.cluster));
  return causes.length === 0 ? undefined : { mode: mode.declared, causes };
}

/** Said of the fleet, only while something waits. */
export function fleetSafeModeConditions(engine: Engine): readonly ConditionValue[] {
  const status = safeModeStatus(engine);
  if (status === undefined) return [];
  const message = status.causes.map(({ cluster, message: said }) => `${cluster}: ${said}`).join('; ');
  return [{ type: 'SafeMode', status: 'True', reason: status.causes[0]?.reason ?? 'SnapshotMissing', message }];
}
