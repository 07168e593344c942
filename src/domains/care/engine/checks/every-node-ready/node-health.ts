import { conditionOf } from '../../../../../model/objects/object-health/health.ts';
import type { JsonObject } from '../../../../../model/text/json.ts';
import type { WorkerPool } from '../../../model/shoot.ts';
import { bounded } from '../../bounded-text.ts';
import { conditionProblem, type ExpectedCondition } from '../../objects/expected-conditions.ts';
import type { ConditionFinding } from '../../thresholds.ts';
import { causedBy, failed, type Look, nodeName, type PoolRule } from './look.ts';

const EXPECTED: readonly ExpectedCondition[] = [
  { type: 'Ready', status: 'True', isRequired: true },
  { type: 'DiskPressure', status: 'False' },
  { type: 'MemoryPressure', status: 'False' },
  { type: 'NetworkUnavailable', status: 'False' },
  { type: 'PIDPressure', status: 'False' },
];

/** Why a Node with this status is not healthy; undefined: it is. Source: Gardener's CheckNode. */
export function healthProblem(status: JsonObject): string | undefined {
  const problem = conditionProblem(status, EXPECTED);
  return problem === undefined ? undefined : bounded(problem);
}

/** Whether a Node with this status belongs to a failed Machine that is preserved. Source: Gardener's IsNodePreservedAndUnhealthy. */
export function isPreserved(status: JsonObject): boolean {
  const ready = conditionOf(status, 'Ready')?.status;
  return conditionOf(status, 'Preserved')?.status === 'True' && (ready === 'False' || ready === 'Unknown');
}

/** Reasons of a kubelet whose settings leave the Node too little. */
const CONFIGURED_WRONG = /KubeletHasInsufficientMemory|KubeletHasDiskPressure|KubeletHasInsufficientPID/i;

/** Each Node of a pool has to be healthy. Source: Gardener's CheckNodes. */
export const nodesAreHealthy: PoolRule = (look, pool) => firstProblem(look, pool, 'unhealthy', '');

/** Nodes that are preserved are named last: they must not hide what a person has to mend. */
export const noneIsPreserved: PoolRule = (look, pool) =>
  firstProblem(look, pool, 'preserved', ' (node and backing machine preserved by MCM)');

function firstProblem(
  look: Look,
  { name: pool }: WorkerPool,
  group: 'unhealthy' | 'preserved',
  note: string,
): ConditionFinding | undefined {
  const [first] = look.first(group, 1, pool);
  if (first?.value.unhealthy === undefined) return undefined;
  const why = first.value.unhealthy;
  return failed(
    'NodeUnhealthy',
    `Node "${nodeName(first.key)}" in worker group "${pool}" is unhealthy: ${why}${note}`,
    {
      ...causedBy(first),
      ...(CONFIGURED_WRONG.test(why) ? { codes: ['ERR_CONFIGURATION_PROBLEM'] } : {}),
    },
  );
}
