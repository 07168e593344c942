import type { Hold } from '../../model/fleet/ledger.ts';
import { isStatusKey, type ObjectKey } from '../../model/objects/object-key.ts';
import { statusProblem } from '../../model/objects/status-value.ts';
import type { JsonObject } from '../../model/text/json.ts';
import type { TargetValue } from '../fleet/clusters.ts';

const NOT_TAKEN: Hold = {
  reason: 'StatusesNotTaken',
  message:
    'the agent of the cluster applies no statuses of objects: it is of an earlier version, has not connected yet, or its cluster is a folder',
};

/** Why the status of an object does not go to a cluster, and its end does not either; undefined: they do, or it is an object. */
export function whyNotTaken(key: ObjectKey, { takesStatuses }: TargetValue): Hold | undefined {
  return takesStatuses === true || !isStatusKey(key) ? undefined : NOT_TAKEN;
}

/** Why the value of a status is not sent; undefined: it is, or the key names an object. */
export function whyNoStatus(key: ObjectKey, value: JsonObject): Hold | undefined {
  const problem = statusProblem(key, value);
  return problem === undefined ? undefined : { reason: 'InvalidStatus', message: problem };
}
