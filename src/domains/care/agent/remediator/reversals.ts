import { createFlapping } from '../../../../model/limits/flapping.ts';
import type { ObjectKey } from '../../../../model/objects/object-key.ts';
import type { WebhookChange } from '../../model/remediate.ts';
import type { LiveConfiguration } from '../../ports/webhook-configurations.ts';

export type Reversals = ReturnType<typeof createReversals>;

/** Notices field managers that keep reverting what this process changes. `monotonic`: the time in milliseconds. */
export function createReversals(monotonic: () => number) {
  const flapping = createFlapping(monotonic);
  /** The fields that were changed, and of which no reversal was seen since. */
  const standing = new Map<ObjectKey, Set<string>>();
  return {
    changed(key: ObjectKey, changes: readonly WebhookChange[]): void {
      standing.set(key, new Set([...(standing.get(key) ?? []), ...changes.map(fieldId)]));
    },
    /**
     * Takes the changes that a configuration needs now, and counts each reversal once. Returns the managers of these fields with
     * three reversals within ten minutes, in canonical order.
     */
    revertingManagers({ key, writerOf }: LiveConfiguration, needed: readonly WebhookChange[]): readonly string[] {
      const writersOf = (changes: readonly WebhookChange[]): readonly string[] => [
        ...new Set(changes.map(({ webhook, field }) => writerOf(webhook, field))),
      ];
      const own = standing.get(key);
      const reverted = needed.filter((change) => own?.delete(fieldId(change)));
      if (reverted.length > 0) flapping.reversed(key, writersOf(reverted));
      return flapping.among(key, writersOf(needed)).toSorted();
    },
    /** The configuration is gone. */
    forget(key: ObjectKey): void {
      standing.delete(key);
      flapping.forget(key);
    },
  };
}

function fieldId({ webhook, field }: WebhookChange): string {
  return `${field} ${webhook}`;
}
