/** Randomness for jitter and ids. Secrets do not come from here but from the platform's cryptography. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A fresh id of 32 hex digits. */
  id(): string;
}
