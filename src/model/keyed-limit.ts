/**
 * Counts what is open at once, by key. The function opens one of a key and returns what closes it, to be called once; undefined: `most`
 * of this key are open.
 */
export function createKeyedLimit(most: number): (key: string) => (() => void) | undefined {
  const open = new Map<string, number>();
  return (key) => {
    const count = open.get(key) ?? 0;
    if (count >= most) return undefined;
    open.set(key, count + 1);
    return () => {
      const left = (open.get(key) ?? 1) - 1;
      if (left > 0) open.set(key, left);
      else open.delete(key);
    };
  };
}
