import { findings } from '../../model/fleet/findings.ts';
import type { Hold } from '../../model/fleet/ledger.ts';
import type { ObjectMeta } from '../../model/fleet/output.ts';
import { displayKey, type ObjectKey } from '../../model/objects/object-key.ts';
import {
  aboveRequest,
  notCarried,
  type ObjectSize,
  objectLimits,
  SCOPE_CLUSTERS,
} from '../../model/objects/object-size.ts';
import type { JsonObject } from '../../model/text/json.ts';
import type { TargetValue } from '../fleet/clusters.ts';
import type { Candidate } from '../placement/wants.ts';

/** The reasons of the findings that decoding gives of such an object; a comment that suppresses the finding changes nothing here. */
const TOO_LARGE = 'ObjectTooLarge' satisfies keyof typeof findings;
const NOT_CARRIED = 'ObjectNotCarried' satisfies keyof typeof findings;

/** Why the relay, the agent or the API server of a cluster does not take an object; undefined: they do. */
export function whyTooLarge(
  key: ObjectKey,
  { value, size }: Pick<Candidate, 'value' | 'size'>,
  { origins, scope }: ObjectMeta,
  target: TargetValue,
): Hold | undefined {
  const refused = refusal(value, size, scope.length, target);
  if (refused === undefined) return undefined;
  const [origin] = origins;
  const from =
    origin === undefined ? '' : ` of ${origin.path}${origin.source === '' ? '' : ` in source ${origin.source}`}`;
  const { reason, text } = refused;
  const message = `${displayKey(key)}${from} ${text} (${findings[reason].code}): make several objects of it`;
  return { reason, message };
}

function refusal(
  value: JsonObject,
  size: ObjectSize | undefined,
  clusters: number,
  { hasApiServer, objectBytes = objectLimits.bytes }: TargetValue,
): { readonly reason: typeof TOO_LARGE | typeof NOT_CARRIED; readonly text: string } | undefined {
  if (clusters > SCOPE_CLUSTERS) {
    const text = `depends on the live state of ${clusters} clusters, and the relay carries at most ${SCOPE_CLUSTERS}`;
    return { reason: NOT_CARRIED, text };
  }
  if (size === undefined) return undefined;
  const uncarried = notCarried(size);
  if (uncarried !== undefined) return { reason: NOT_CARRIED, text: uncarried };
  if (size.bytes > objectBytes) {
    const text = `has ${size.bytes} bytes as JSON; the agent of the cluster takes at most ${objectBytes}`;
    return { reason: NOT_CARRIED, text };
  }
  const above = hasApiServer ? aboveRequest(value, size) : undefined;
  return above === undefined ? undefined : { reason: TOO_LARGE, text: above };
}
