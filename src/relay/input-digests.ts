import type { InputDelta } from '../model/agent/agent.ts';
import type { Digest } from '../model/fleet/ids.ts';
import type { BucketedMap } from '../model/values/bucketed-map.ts';

/** Keys and digests of an input snapshot. */
export type InputDigests = BucketedMap<string, Digest>;

/** Those after a step. */
export function digestsAfter(
  digests: InputDigests,
  { upserts, removals }: Pick<InputDelta, 'upserts' | 'removals'>,
): InputDigests {
  return digests.with(
    upserts.map(({ key, digest }) => [key, digest] as const),
    removals,
  );
}
