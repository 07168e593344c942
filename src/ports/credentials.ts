/** What an agent proves itself with, and whom it believes. PEM texts. The key never leaves its cluster. */
export interface AgentCredentials {
  /** Empty together with the certificate: there is none, only roots are known. */
  readonly key: string;
  /** The client certificate first. */
  readonly certificate: string;
  /** Every root that the server's certificate may be signed by, beside those that the agent was given; may be empty. */
  readonly roots: string;
}

/** Where an agent keeps its credentials: in its cluster or on its disk, readable for nobody else. */
export interface CredentialStore {
  /** For people: a path, a name. */
  readonly place: string;
  /**
   * Undefined if there are none. What is there and damaged counts as none: it is said in the log, and kept aside where
   * the store can do that. Rejects if the store cannot be asked.
   */
  load(): Promise<AgentCredentials | undefined>;
  /**
   * Durable, all of it or nothing, when it resolves. Rejects if that cannot be had, or if another process has saved since
   * this one has loaded or saved last: what it saved stays, and is to be loaded.
   */
  save(credentials: AgentCredentials): Promise<void>;
}
