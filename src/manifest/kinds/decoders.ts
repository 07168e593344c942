import type { DecoderId } from '../../model/engine-kinds.ts';
import type { JsonObject } from '../../model/json.ts';
import { readApproval } from './approval.ts';
import { readCluster } from './cluster.ts';
import { readDataplane } from './dataplane.ts';
import { readMirror } from './mirror.ts';
import { readPlacement } from './placement.ts';
import { readPolicy } from './policy.ts';
import type { DocumentReading } from './reading.ts';
import { readShoot } from './shoot.ts';

/** Decodes the documents of the engine kinds, by the ids that `model/engine-kinds.ts` names. */
export const decoders: { readonly [Id in DecoderId]: (document: JsonObject) => DocumentReading } = {
  approval: readApproval,
  cluster: readCluster,
  dataplane: readDataplane,
  mirror: readMirror,
  placement: readPlacement,
  policy: readPolicy,
  shoot: readShoot,
};
