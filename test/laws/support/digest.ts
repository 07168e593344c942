/** Returns a value's text with sorted members: the same text for equal values. */
export function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'nothing';
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${textOf(member)}`).join(',')}}`;
}

/** A number from anything: what the random functions of the laws decide by. */
export function numberOf(...values: readonly unknown[]): number {
  let hash = 2166136261;
  const text = textOf(values);
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
  hash = Math.imul(hash ^ (hash >>> 15), 2246822507);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** Freezes a value through and through, so that a kernel that writes into values is found out. */
export function frozen<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) frozen(member);
  }
  return value;
}
