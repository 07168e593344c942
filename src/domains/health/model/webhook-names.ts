/** The name of the MutatingWebhookConfiguration that is installed with the agent. */
export const WEBHOOK_CONFIGURATION = 'fleetrelay-agent';
/** The name of the Service by which the API server reaches the replicas of the agent. */
export const WEBHOOK_SERVICE = 'fleetrelay-agent-webhook';
/** The name of the Secret with certificates and settings that the replicas share. */
export const WEBHOOK_SECRET = 'fleetrelay-agent-webhook';
