/** Joins parts to a key or to the name of a group. Other parts give another text, and order is that of the parts. */
export function joined(...parts: readonly string[]): string {
  // No name of Kubernetes or Kuma has this character; a live object can have any.
  return parts.map((part) => part.replaceAll('\u0000', '')).join('\u0000');
}
