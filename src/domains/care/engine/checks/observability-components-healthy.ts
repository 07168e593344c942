import type { Derived, Graph, Reader } from '../../../../engine/collections/types.ts';
import type { BoundShoot } from '../binding.ts';
import { DEPLOYMENT_KIND } from '../objects/components.ts';
import { careSettingsOf } from '../settings.ts';
import type { ConditionFinding } from '../thresholds.ts';
import { type CheckReads, deriveCheck } from './check.ts';
import {
  componentFindings,
  controlPlaneOf,
  managedResourceFindings,
  type PartsReads,
  partsRead,
} from './control-plane-parts.ts';

const TYPE = 'ObservabilityComponentsHealthy';

interface Reads extends CheckReads, PartsReads {}

/** Derives whether the parts by which each Shoot is observed are healthy. Key: the Shoot's. */
export function deriveObservabilityComponentsHealthy(graph: Graph, reads: Reads): Derived<ConditionFinding> {
  return deriveCheck(graph, reads, {
    type: TYPE,
    name: 'observabilityComponentsHealthy',
    reads: partsRead(reads),
    good: {
      outcome: 'good',
      reason: 'ObservabilityComponentsRunning',
      message: 'All observability components are healthy.',
    },
    rules: (read, shoot) => findings(read, reads, shoot),
  });
}

function* findings(read: Reader, reads: Reads, shoot: BoundShoot): Generator<ConditionFinding | undefined> {
  const controlPlane = controlPlaneOf(shoot);
  if (controlPlane === undefined) return;
  const { monitoringEnabled, loggingEnabled } = careSettingsOf(read, reads.settings);
  const isObserved = shoot.purpose !== 'testing';
  const kind = DEPLOYMENT_KIND;
  if (isObserved && monitoringEnabled) {
    const required = shoot.pools.length === 0 ? [] : ['kube-state-metrics'];
    yield* componentFindings(read, reads, controlPlane, { kind, role: 'monitoring', required });
  }
  if (isObserved && loggingEnabled) {
    yield* componentFindings(read, reads, controlPlane, { kind, role: 'logging', required: ['event-logger'] });
  }
  yield* managedResourceFindings(read, reads, controlPlane, TYPE);
}
