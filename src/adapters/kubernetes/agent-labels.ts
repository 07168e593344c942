/** Labels of the agent's pods, which selectors name. They never change: a Deployment's selector cannot. */
export const agentTemplateLabels = { 'app.kubernetes.io/name': 'fleetrelay-agent' };

/** Labels of all objects of the agent. */
export const AGENT_LABELS = { ...agentTemplateLabels, 'app.kubernetes.io/part-of': 'fleetrelay' };
