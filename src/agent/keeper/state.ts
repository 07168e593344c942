import type { AgentSettings } from '../../model/agent-settings.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { AgentDisk } from '../../ports/agent-disk.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClusterApi, LiveState } from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { ResultBook } from '../result-book.ts';
import type { Awaited } from './awaited.ts';
import type { Drift } from './drift.ts';
import type { Durable } from './durable.ts';
import type { Entering } from './entering.ts';
import type { HealthTeller } from './health.ts';
import type { Holding } from './holding.ts';

export interface KeeperDeps {
  readonly cluster: ClusterApi;
  readonly disk: AgentDisk;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly results: ResultBook;
  /** Another agent has taken the cluster over. */
  readonly takenOver: (error: Error) => void;
  /** Nothing is left to do at this moment. */
  readonly idle: () => void;
}

/** What a keeper knows while it runs. */
export interface KeeperState {
  readonly deps: KeeperDeps;
  holding: Holding;
  /** Contents are known to be those of the inventory; before that nothing is repaired. */
  trusted: boolean;
  mayRemove: boolean;
  /** How often the server was left; what came before that gives no leave to remove. */
  partings: number;
  paused: boolean;
  live: LiveState | undefined;
  readonly drift: Drift;
  readonly health: HealthTeller;
  /** Keys that a look found being worked on: the next one looks at them too. */
  readonly passedOver: Set<ObjectKey>;
  /** Keys whose removal was tried again because a look found nothing there. */
  readonly seenGone: Set<ObjectKey>;
  readonly awaited: Awaited;
  /** A state was not compared: the next one is, with everything that is held. */
  missed: boolean;
  readonly durable: Durable;
  readonly entering: Entering;
  /** Settings that wait for their turn to be written: only the newest count. */
  settings: AgentSettings | undefined;
}
