/** The name of the Lease by which the replicas of an agent elect their leader. */
export const AGENT_LEASE = 'fleetrelay-agent';
/** The name of the Secret with the client certificate of an agent, its key, and the roots of its server. */
export const AGENT_CREDENTIALS = 'fleetrelay-agent-credentials';
