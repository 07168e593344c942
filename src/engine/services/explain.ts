import type { Contribution } from '../collections/types.ts';
import type { Reason } from '../explain/reason.ts';
import { documentRefOf } from '../fleet/sources.ts';
import type { Output } from '../output/outputs.ts';
import type { Candidate } from '../placement/candidates.ts';

/** The live objects that a mirrored one stands for, the one that counts first, and the ServiceMirrors that select them. */
export function explainMirrored(
  claims: readonly Contribution<Candidate>[],
  output: Output | undefined,
): readonly Reason[] {
  const live = new Map<string, Reason & { readonly type: 'live' }>();
  const rules = new Map<string, Reason>();
  const counting = new Set<Reason>();
  for (const { from, value } of claims) {
    if (value.derived === undefined) continue;
    const { cluster, key } = value.derived.standsFor;
    const counts = output?.type !== 'object' || (output.digest === value.digest && output.scope[0] === cluster);
    const part = counts ? 'lives there, and is mirrored' : 'would have the same name, and does not count';
    const reason = { type: 'live', cluster, key, part } as const;
    if (counts) counting.add(reason);
    live.set(`${cluster}/${key}`, reason);
    const at = documentRefOf(from);
    const name = at.identity.slice(at.identity.lastIndexOf('/') + 1).replace(/#\d+$/, '');
    const selects = 'selects the service and both clusters';
    rules.set(name, { type: 'rule', kind: 'ServiceMirror', name, at, part: selects });
  }
  const sorted = [...live.values()].sort((a, b) => Number(counting.has(b)) - Number(counting.has(a)));
  return [...sorted, ...rules.values()];
}
