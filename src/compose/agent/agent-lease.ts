/** The name of the Lease that the replicas of an agent elect their leader by. */
export const AGENT_LEASE = 'fleetrelay-agent';
