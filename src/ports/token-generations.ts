/**
 * Which tokens of each cluster count. A token says its generation, and only one of the current generation is worth
 * anything. A generation is the second in which it began (since 1970), or one more than the one before it: so a renewal is
 * later than every earlier one, also than one that was forgotten. 0: the tokens of the cluster were never renewed.
 */
export interface TokenGenerations {
  current(cluster: string): number;
  /**
   * Begins a new generation: every token that the cluster has is worth nothing. Resolves with it when that is durable, and
   * told to every replica that can be reached. Rejects with a text for people if it cannot be had; then nothing has changed.
   */
  renew(cluster: string): Promise<number>;
  /** Somebody has shown a right token of this generation. If it is not known, it was forgotten, and counts again. */
  shown(cluster: string, generation: number): void;
  /** Calls back with each cluster whose generation has changed, until the returned function is called. */
  watch(changed: (cluster: string) => void): () => void;
}
