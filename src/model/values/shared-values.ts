/** Equal values of one kind that many objects have are remembered up to this number. */
const MOST_REMEMBERED = 1_000;
/** Longer values, in characters of JSON, are not shared: few objects have the same. */
const LONGEST = 1_000;

/**
 * Returns a function that makes equal values the same object, so that many objects share it. The values must not change. A value
 * that was not met for long may be another object than before.
 */
export function createSharing<Value extends object>(): (value: Value) => Value {
  const known = new Map<string, Value>();
  return (value) => {
    const text = JSON.stringify(value);
    if (text.length > LONGEST) return value;
    const same = known.get(text);
    if (same !== undefined) return same;
    if (known.size >= MOST_REMEMBERED) known.clear();
    known.set(text, value);
    return value;
  };
}
