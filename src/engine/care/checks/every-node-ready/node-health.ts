import type { JsonObject } from '../../../../model/json.ts';
import { bounded } from '../../bounded-text.ts';
import { conditionProblem, type ExpectedCondition } from '../../objects/expected-conditions.ts';
import { causedBy, failed, nodeName, type PoolRule } from './look.ts';

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

/** Reasons of a kubelet whose settings leave the Node too little. */
const CONFIGURED_WRONG = /KubeletHasInsufficientMemory|KubeletHasDiskPressure|KubeletHasInsufficientPID/i;

/** Each Node of a pool has to be healthy. Source: Gardener's CheckNodes. */
export const nodesAreHealthy: PoolRule = (look, { name: pool }) => {
  const [first] = look.first('unhealthy', 1, pool);
  if (first?.value.unhealthy === undefined) return undefined;
  const why = first.value.unhealthy;
  return failed('NodeUnhealthy', `Node "${nodeName(first.key)}" in worker group "${pool}" is unhealthy: ${why}`, {
    ...causedBy(first),
    ...(CONFIGURED_WRONG.test(why) ? { codes: ['ERR_CONFIGURATION_PROBLEM'] } : {}),
  });
};
