/** Randomness for jitter and ids. Not for keys, which need the platform's cryptography. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A fresh id of 32 hex digits. The system's adapter makes ids that cannot be guessed. */
  id(): string;
}
