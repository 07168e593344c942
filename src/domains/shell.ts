import type { DomainCli } from '../cli/domain-cli.ts';
import type { OpenAgentDomain } from '../compose/agent/agent-domain.ts';
import type { AgentAddition } from '../compose/manifests/agent-addition.ts';
import type { DomainRender } from '../compose/render/domain-render.ts';
import type { ServerPart } from '../compose/serve/server-part.ts';
import type { Domain } from '../engine/domain.ts';
import type { DomainManifest } from '../manifest/kinds/decoders.ts';

/**
 * What a domain adds to the processes of fleetrelay. A process loads the parts that it needs: a member that is a function imports
 * them when it is called, so that the command line stays light.
 */
export interface DomainShell {
  /** See {@link Domain}. */
  readonly name: string;
  /** How its kinds, and its section of a FleetPolicy, are read. */
  readonly manifest: () => Promise<DomainManifest>;
  readonly engine: () => Promise<Domain>;
  /** Its rights, and what else it adds to an installed agent. */
  readonly installed?: () => Promise<AgentAddition>;
  /** What it does in the agents of clusters. */
  readonly agent?: () => Promise<OpenAgentDomain>;
  /** Absent: it adds nothing to a management server besides its engine. */
  readonly server?: () => Promise<ServerPart>;
  /** Its commands, and what `get` and `explain` show of it; absent: the command line has nothing of it. */
  readonly cli?: DomainCli;
  /** What it adds to an evaluation of a folder; absent: nothing besides its engine. */
  readonly render?: DomainRender;
}
