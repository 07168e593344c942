/** The refusal of an agent by the server, or of the server by an agent. */
export interface AgentRefusalView {
  /** Constant UpperCamelCase word, such as `WrongToken`. */
  readonly reason: string;
  readonly message: string;
  /** Of the caller, without the port. */
  readonly address: string;
  /** The last attempt, RFC 3339, to the minute. */
  readonly at: string;
}

/** A client certificate of an agent. Times are RFC 3339. */
export interface AgentCertificateView {
  /** Lower-case hex. */
  readonly serial: string;
  readonly issuedAt: string;
  readonly expiresAt: string;
}

/** An agent with the shared token that waits until a person accepts it. */
export interface WaitingAgentView {
  readonly id: string;
  /** sha256 of its key, in hex; the agent logs it. */
  readonly key: string;
  /** When it has asked, RFC 3339. */
  readonly askedAt: string;
}
