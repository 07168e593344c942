import type { AgentAddition, AgentWebhook } from '../compose/manifests/agent-addition.ts';
import { domains } from './domains.ts';

/** What the domains add to an installed agent, in their order. */
export const agentAdditions: readonly (AgentAddition & { readonly name: string })[] = await Promise.all(
  domains.map(async ({ name, installed }) => ({ name, ...(await installed?.()) })),
);

const webhooks = agentAdditions.flatMap(({ webhook }) => webhook ?? []);
if (webhooks.length > 1) throw new Error('two domains have an admission webhook of agents, which serve one');

/** The webhook that an agent can serve; undefined: no domain has one. */
export const agentWebhook: AgentWebhook | undefined = webhooks[0];
