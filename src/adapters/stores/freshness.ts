/** Most keys whose newest generation is remembered; those that were longest neither read nor written are forgotten. */
const MOST_KEYS = 500_000;

interface Known {
  readonly generation: number;
  /** Counts what was learnt, so that a read can tell what was known when it began. */
  readonly learnt: number;
}

interface Sent {
  readonly generation: number;
  readonly bytes: Uint8Array;
}

/**
 * The newest generation of each record that this process has read or written. A generation grows with each write of its key:
 * it is the time in milliseconds, or one more than the last. So a record that was deleted gets a higher one too when another
 * process creates it again. `now`: milliseconds since 1970.
 */
export function createFreshness(now: () => number) {
  const known = new Map<string, Known>();
  /** Writes whose outcome is not known. */
  const open = new Map<string, Sent>();
  let learnt = 0;
  const learn = (key: string, generation: number): void => {
    known.delete(key);
    known.set(key, { generation, learnt: ++learnt });
    const [oldest] = known.size > MOST_KEYS ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
  };
  return {
    /** What a read that begins now must give to `isPutBack`. */
    begin: (): number => learnt,
    /**
     * Judges the generation that a read has found: true if a newer one was known when the read began. This generation is the
     * known one from then on, so that a value that was put back is reported once.
     */
    isPutBack: (key: string, generation: number, begun: number): boolean => {
      const before = known.get(key);
      const isOlder = before !== undefined && generation < before.generation;
      if (isOlder && before.learnt > begun) return false;
      learn(key, generation);
      return isOlder;
    },
    /**
     * The bytes of a write, made by `seal` for its generation. A write whose outcome is not known is repeated with the same
     * bytes, by which the store recognises it.
     */
    bytesOf: (key: string, seal: (generation: number) => Uint8Array): Uint8Array => {
      const before = open.get(key);
      if (before !== undefined) {
        const again = seal(before.generation);
        if (Buffer.compare(again, before.bytes) === 0) return again;
      }
      const generation = Math.max(now(), (known.get(key)?.generation ?? 0) + 1);
      const bytes = seal(generation);
      open.set(key, { generation, bytes });
      return bytes;
    },
    /** The outcome of a write is known. */
    settled: (key: string, isWritten: boolean): void => {
      const sent = open.get(key);
      open.delete(key);
      if (sent !== undefined && isWritten && sent.generation > (known.get(key)?.generation ?? 0)) {
        learn(key, sent.generation);
      }
    },
    /** The store has lost writes: older values may be in it. */
    forget: (): void => known.clear(),
  };
}
