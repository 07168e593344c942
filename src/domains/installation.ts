import type { AgentAddition, AgentWebhook } from '../compose/manifests/agent-addition.ts';
import { domains } from './domains.ts';

/** What the domains add to an installed agent, in their order. */
export const agentAdditions: readonly AgentAddition[] = await Promise.all(
  domains.flatMap(({ installed }) => (installed === undefined ? [] : [installed()])),
);

/** The webhook that an agent can serve; undefined: no domain has one. */
export const agentWebhook: AgentWebhook | undefined = agentAdditions.find(({ webhook }) => webhook)?.webhook;
