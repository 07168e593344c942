/** Joins parts to a key or to the name of a group. Other parts give another text. Texts are ordered as their parts are. */
export function joined(...parts: readonly string[]): string {
  // No name of Kubernetes or Kuma has this character; a live object can have any.
  return parts.map((part) => part.replaceAll('\u0000', '')).join('\u0000');
}
