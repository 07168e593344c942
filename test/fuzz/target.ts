import type fc from 'fast-check';

/** Something that reads bytes from outside. */
export interface FuzzTarget<Input> {
  readonly name: string;
  /** The inputs, valid ones and changes of them. They are plain JSON, so that a file can hold one. */
  readonly inputs: fc.Arbitrary<Input>;
  /** Reads one input. Rejects if a property does not hold. */
  check(input: Input): Promise<void>;
}

/** A constant word: what people and programs group refusals by. */
const REASON = /^[A-Z][A-Za-z0-9]{0,63}$/;

/** Throws unless the reason of a refusal is a constant word. */
export function requireReason(reason: string): void {
  require(REASON.test(reason), `the reason ${JSON.stringify(reason)} is not a constant word`);
}

/** Throws with this sentence unless a property holds. */
export function require(holds: boolean, sentence: string): void {
  if (!holds) throw new Error(sentence);
}
