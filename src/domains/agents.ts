import type { OpenAgentDomain } from '../compose/agent/agent-domain.ts';
import { domains } from './domains.ts';

/** What the domains do in the agents of clusters, in their order. */
export const agentDomains: readonly OpenAgentDomain[] = await Promise.all(
  domains.flatMap(({ agent }) => (agent === undefined ? [] : [agent()])),
);
