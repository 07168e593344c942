/** The name of the Secret that holds the client certificate of an agent, its key, and the roots of its server. */
export const AGENT_CREDENTIALS = 'fleetrelay-agent-credentials';
