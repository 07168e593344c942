import { metadataOf } from '../../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, textOf } from '../../../../model/text/json.ts';

/**
 * Collects the kinds (`group/Kind`) whose definition was made, changed or removed. Each is told after every reading of the catalog, the
 * last time after one that began `settledMs` milliseconds after the change, since the API server does not use a new definition at once.
 */
export function createRedefinedKinds(settledMs: number) {
  const definitions = new Map<string, { readonly kind: string; readonly version: string }>();
  /** When the definition of a kind has changed last. */
  const changedAt = new Map<string, number>();
  let told = new Set<string>();
  return {
    /** `now`: milliseconds; undefined: it was there at the start. */
    seen(key: string, raw: JsonObject, now: number | undefined): void {
      const { group, names } = objectOf(raw.spec);
      const kind = textOf(objectOf(names).kind);
      if (kind === '') return;
      const { uid, generation } = metadataOf(raw);
      // One that was deleted and made again counts from the first generation again.
      const definition = { kind: `${textOf(group)}/${kind}`, version: `${String(uid)}/${String(generation)}` };
      const isChanged = definitions.get(key)?.version !== definition.version;
      definitions.set(key, definition);
      if (now !== undefined && isChanged) changedAt.set(definition.kind, now);
    },
    gone(key: string, now: number): void {
      const definition = definitions.get(key);
      definitions.delete(key);
      if (definition !== undefined) changedAt.set(definition.kind, now);
    },
    /** The catalog was read, beginning at `begun`. Returns whether there are kinds to take. */
    tell(begun: number): boolean {
      for (const [kind, at] of changedAt) {
        told.add(kind);
        if (begun - at >= settledMs) changedAt.delete(kind);
      }
      return told.size > 0;
    },
    /** Whether a kind is to be told after a later reading. */
    isWaiting: (): boolean => changedAt.size > 0,
    /** The kinds that were told since the last call. */
    take(): ReadonlySet<string> {
      const taken = told;
      told = new Set();
      return taken;
    },
  };
}
