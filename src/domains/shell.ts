import type { Domain } from '../engine/domain.ts';

/**
 * What a domain adds to the processes of fleetrelay. A process loads the parts that it needs: a member that is a function imports
 * them when it is called, so that the command line stays light.
 */
export interface DomainShell {
  /** As of {@link Domain}. */
  readonly name: string;
  readonly engine: () => Promise<Domain>;
}
