/** An agent's key and certificate, and the roots it trusts. PEM texts. The key never leaves the cluster. */
export interface AgentCredentials {
  /** Empty together with the certificate if only the roots are known. */
  readonly key: string;
  /** The client certificate first. */
  readonly certificate: string;
  /** Roots that may sign the server's certificate, beside the configured ones; may be empty. */
  readonly roots: string;
  /**
   * The key for which the agent asks a certificate; empty if it asks for none. It is saved before the first request, because the
   * server gives the certificate of a single-use token, or an accepted one, to one key.
   */
  readonly requestedKey: string;
}

/** Stores an agent's credentials in its cluster or on its disk, readable for the agent only. */
export interface CredentialStore {
  /** Its place for people: a path or a name. */
  readonly place: string;
  /**
   * Returns undefined if there are none. Damaged credentials count as none; the adapter logs the damage, and keeps a copy where
   * it can. Rejects if the store cannot be read.
   */
  load(): Promise<AgentCredentials | undefined>;
  /**
   * Saves completely or not at all; durable when it resolves. Rejects if the write fails, or if another process has saved
   * since the last load or save of this one: the credentials of the other process stay, and the caller must load them.
   */
  save(credentials: AgentCredentials): Promise<void>;
}
