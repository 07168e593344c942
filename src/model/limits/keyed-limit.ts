/** Counts what is open at once, by key. */
export function createKeyedCount() {
  const counts = new Map<string, number>();
  const of = (key: string): number => counts.get(key) ?? 0;
  return {
    of,
    /** Opens one of a key. Returns what closes it, to be called once. */
    open: (key: string): (() => void) => {
      counts.set(key, of(key) + 1);
      return () => {
        const left = of(key) - 1;
        if (left > 0) counts.set(key, left);
        else counts.delete(key);
      };
    },
  };
}

/**
 * Limits what is open at once, by key. The function opens one of a key and returns what closes it, to be called once; undefined: `most`
 * of this key are open.
 */
export function createKeyedLimit(most: number): (key: string) => (() => void) | undefined {
  const { of, open } = createKeyedCount();
  return (key) => (of(key) < most ? open(key) : undefined);
}
