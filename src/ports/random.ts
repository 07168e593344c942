/** Randomness for jitter and ids. Not for secrets, which need the platform's cryptography. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A fresh id of 32 hex digits. */
  id(): string;
}
