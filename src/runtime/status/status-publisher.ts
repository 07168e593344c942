import type { StatusBranchView } from '../../api/server-api.ts';
import type { FleetPolicy } from '../../model/fleet/desired.ts';
import type { JsonValue } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { StatusChanges, StatusRenderer } from './status-renderer.ts';

/** Holds the status files, as the git sink does. */
export interface StatusSink {
  /** Reads the files as last written, by path. */
  readAll(): Promise<
    | { readonly ok: true; readonly files: ReadonlyMap<string, string> }
    | { readonly ok: false; readonly message: string }
  >;
  /**
   * Takes changes; the first call after a start has the complete set. `summary` is one line for people. `published` is called
   * when the sink holds these changes, or newer ones.
   */
  update(changes: StatusChanges, summary: string, published: () => void): void;
  /** Sets the shortest time between two commits, in seconds. */
  setMinInterval(seconds: number): void;
  /** Only the leader publishes. Absent: the sink always publishes. */
  lead?(leads: boolean): void;
  condition(): StatusBranchView;
}

/** Changes within this time are rendered together. */
const GATHER_MS = 300;
/** After a start the status is published when the agents are connected again, at the latest after this time. */
const SETTLE_MS = 20_000;
const READ_RETRY_MS = 5_000;

export type StatusPublisher = ReturnType<typeof createStatusPublisher>;

/** Passes changed status files to the sink, in batches, after the agents have reconnected and the branch was read. */
export function createStatusPublisher(deps: {
  readonly renderer: StatusRenderer;
  readonly sink: StatusSink;
  readonly summary: () => string;
  /** What the policy in force says about the status branch. */
  readonly policy: () => FleetPolicy['status'];
  /** Every source has been read. */
  readonly isComplete: () => boolean;
  /** Every cluster that was known at the start is connected, and none has pending changes. */
  readonly isSettled: () => boolean;
  /** Parses a file of the branch; throws if it is not YAML. */
  readonly parse: (text: string) => JsonValue;
  readonly clock: Clock;
  readonly log: Log;
}) {
  const { renderer, sink, clock, log } = deps;
  let phase: 'idle' | 'settling' | 'reading' | 'publishing' | 'stopped' = 'idle';
  let settleBy = 0;
  let cancel: (() => void) | undefined;
  /** Files are being read or rendered: in slices, which must not mix. */
  let isBusy = false;

  const schedule = (): void => {
    if (cancel !== undefined || (phase !== 'settling' && phase !== 'publishing')) return;
    cancel = clock.schedule(GATHER_MS, () => {
      cancel = undefined;
      if (phase === 'settling' && !isBusy && (deps.isSettled() || clock.monotonic() > settleBy)) {
        read().catch((error: unknown) => log.error('the status branch cannot be read', { error: errorText(error) }));
      }
      if (phase === 'publishing' && !isBusy) void publish();
      else schedule();
    });
  };
  const publish = async (): Promise<void> => {
    const { enabled, minIntervalSeconds } = deps.policy();
    // While the policy disables the branch, changes are collected: the first commit after that contains them all.
    if (!enabled) return;
    sink.setMinInterval(minIntervalSeconds);
    isBusy = true;
    try {
      const changes = await renderer.render(clock.now(), deps.isComplete());
      sink.update(changes, deps.summary(), () => renderer.published(changes));
    } catch (error) {
      log.error('status cannot be rendered', { error: errorText(error) });
    }
    isBusy = false;
    if (renderer.hasWork()) schedule();
  };
  const read = async (): Promise<void> => {
    phase = 'reading';
    while (phase === 'reading') {
      const written = await sink.readAll();
      if (phase !== 'reading') return;
      if (written.ok) {
        isBusy = true;
        await renderer.load(written.files, deps.parse, clock.now()).finally(() => {
          isBusy = false;
        });
        // It was stopped meanwhile.
        if (phase !== 'reading') return;
        phase = 'publishing';
        return publish();
      }
      log.warn('the status branch cannot be read', { detail: written.message });
      await clock.sleep(READ_RETRY_MS);
    }
  };

  return {
    start: (): void => {
      // The branch is read when there are changes to publish: before that, agents wait for this process.
      settleBy = clock.monotonic() + SETTLE_MS;
      phase = 'settling';
      schedule();
    },
    /** Why nothing is published yet; undefined: it is. */
    waiting: (): string | undefined => {
      if (phase === 'reading') return 'the status branch is being read';
      if (phase !== 'settling') return undefined;
      return `waiting for agents to come back, at most ${SETTLE_MS / 1000} s from the start`;
    },
    /** Runs after each commit of the engine. */
    committed: (): void => {
      renderer.note();
      if (renderer.hasWork()) schedule();
    },
    stop: (): void => {
      phase = 'stopped';
      cancel?.();
      cancel = undefined;
    },
  };
}
