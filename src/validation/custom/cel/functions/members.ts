import type { CelValue } from '@bufbuild/cel';
import type { Meter } from '../../../values/meter.ts';

/** The keys of mappings in CEL, without unsigned numbers. */
type Key = string | bigint | boolean;

/**
 * Makes the members of a mapping. Where the library looks up a number, it goes through all keys, as an unsigned number may be equal:
 * the meter counts that.
 */
export function createMembers(
  meter: Meter,
  members: Iterable<readonly [Key, CelValue]> = [],
): ReadonlyMap<Key, CelValue> & Map<Key, CelValue> {
  return new Members(meter, members);
}

class Members extends Map<Key, CelValue> {
  readonly #meter: Meter;

  constructor(meter: Meter, members: Iterable<readonly [Key, CelValue]>) {
    super(members);
    this.#meter = meter;
  }

  override keys(): MapIterator<Key> {
    this.#meter.charge(this.size / 8);
    return super.keys();
  }
}
