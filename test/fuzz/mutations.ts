import fc from 'fast-check';

/** One change of a list of byte strings. Offsets are taken modulo the length. */
type Mutation =
  | { readonly type: 'drop' | 'repeat' | 'swap'; readonly at: number }
  | { readonly type: 'flip'; readonly at: number; readonly offset: number; readonly bits: number }
  | { readonly type: 'cut'; readonly at: number; readonly offset: number }
  | { readonly type: 'insert'; readonly at: number; readonly offset: number; readonly bytes: Uint8Array };

const place = fc.nat({ max: 0xffff });

const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.record({ type: fc.constantFrom('drop' as const, 'repeat' as const, 'swap' as const), at: place }),
  fc.record({ type: fc.constant('flip' as const), at: place, offset: place, bits: fc.integer({ min: 1, max: 255 }) }),
  fc.record({ type: fc.constant('cut' as const), at: place, offset: place }),
  fc.record({
    type: fc.constant('insert' as const),
    at: place,
    offset: place,
    bytes: fc.uint8Array({ minLength: 1, maxLength: 24 }),
  }),
);

/** A list after a bounded number of changes. */
export function mutations(maxLength: number): fc.Arbitrary<readonly Mutation[]> {
  return fc.array(mutation, { maxLength });
}

/** Applies a change to a list of parts with bytes. */
export function mutate<Part extends { readonly bytes: Uint8Array }>(
  parts: readonly Part[],
  change: Mutation,
): readonly Part[] {
  const at = parts.length === 0 ? 0 : change.at % parts.length;
  const part = parts[at];
  if (part === undefined) return parts;
  switch (change.type) {
    case 'drop':
      return parts.toSpliced(at, 1);
    case 'repeat':
      return parts.toSpliced(at, 0, part);
    case 'swap':
      return parts.toSpliced(at, 1).toSpliced(at + 1, 0, part);
    case 'flip':
    case 'cut':
    case 'insert':
      return parts.with(at, { ...part, bytes: mutateBytes(part.bytes, change) });
  }
}

function mutateBytes(bytes: Uint8Array, change: Extract<Mutation, { readonly offset: number }>): Uint8Array {
  const offset = bytes.length === 0 ? 0 : change.offset % bytes.length;
  if (change.type === 'cut') return bytes.slice(0, offset);
  if (change.type === 'insert') return Buffer.concat([bytes.slice(0, offset), change.bytes, bytes.slice(offset)]);
  return bytes.map((byte, index) => (index === offset ? byte ^ change.bits : byte));
}
