import type { FleetPolicy } from '../../model/desired.ts';
import type { JsonValue } from '../../model/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { StatusBranchView } from '../../server/api.ts';
import type { StatusChanges, StatusRenderer } from './status-renderer.ts';

/** Where status files go; the git sink is one. */
export interface StatusSink {
  /** What was last written, by path. */
  readAll(): Promise<
    | { readonly ok: true; readonly files: ReadonlyMap<string, string> }
    | { readonly ok: false; readonly message: string }
  >;
  /**
   * The first call after a start is the full set. `summary` is one line for people. `published`: called once the sink holds
   * these changes, or newer ones.
   */
  update(changes: StatusChanges, summary: string, published: () => void): void;
  /** The least time between two commits, in seconds. */
  setMinInterval(seconds: number): void;
  /** Only who leads publishes; absent: it publishes what it is told, whoever leads. */
  lead?(leads: boolean): void;
  condition(): StatusBranchView;
}

/** Hands changed status files to the sink, in batches, from the moment at which they mean something. */
export interface StatusPublisher {
  start(): void;
  /** Why nothing is published yet; undefined once it is. */
  waiting(): string | undefined;
  /** After each commit of the engine. */
  committed(): void;
  stop(): void;
}

/** Changes gather for this long before files are rendered. */
const GATHER_MS = 300;
/** After a start, agents get this long to come back before their absence is news. */
const SETTLE_MS = 20_000;
const READ_RETRY_MS = 5_000;

type Phase = 'idle' | 'reading' | 'settling' | 'publishing' | 'stopped';

export function createStatusPublisher(deps: {
  readonly renderer: StatusRenderer;
  readonly sink: StatusSink;
  readonly summary: () => string;
  /** What the policy says of status just now. */
  readonly policy: () => FleetPolicy['status'];
  /** Every source has been read. */
  readonly isComplete: () => boolean;
  /** Every cluster that was known at the start is back, and nothing is under way. */
  readonly isSettled: () => boolean;
  /** Parses a file that was written before; throws if it is not YAML. */
  readonly parse: (text: string) => JsonValue;
  readonly clock: Clock;
  readonly log: Log;
}): StatusPublisher {
  const { renderer, sink, clock, log } = deps;
  let phase: Phase = 'idle';
  let settleBy = 0;
  let cancel: (() => void) | undefined;
  let rendering = false;

  const schedule = (): void => {
    if (cancel !== undefined || phase === 'idle' || phase === 'reading' || phase === 'stopped') return;
    cancel = clock.schedule(GATHER_MS, () => {
      cancel = undefined;
      flush();
    });
  };
  const flush = (): void => {
    if (phase === 'settling' && (deps.isSettled() || clock.monotonic() > settleBy)) {
      phase = 'reading';
      read().catch((error: unknown) => log.error('the status branch cannot be read', { error: String(error) }));
    }
    if (phase !== 'publishing' || rendering) {
      schedule();
      return;
    }
    publish();
  };
  const publish = (): void => {
    const { enabled, minIntervalSeconds } = deps.policy();
    // Switched off, changes go on gathering: switched on again, the first commit holds them all.
    if (!enabled) return;
    sink.setMinInterval(minIntervalSeconds);
    rendering = true;
    renderer
      .render(clock.now(), deps.isComplete())
      .then((changes) => sink.update(changes, deps.summary(), () => renderer.published(changes)))
      .catch((error: unknown) => log.error('status cannot be rendered', { error: String(error) }))
      .finally(() => {
        rendering = false;
        if (renderer.hasWork()) schedule();
      });
  };
  const read = async (): Promise<void> => {
    while (phase === 'reading') {
      const written = await sink.readAll();
      if (phase !== 'reading') return;
      if (written.ok) {
        renderer.load(written.files, deps.parse, clock.now());
        phase = 'publishing';
        publish();
        return;
      }
      log.warn('the status branch cannot be read', { detail: written.message });
      await clock.sleep(READ_RETRY_MS);
    }
  };

  return {
    start: () => {
      // The branch is read when there is something to say: before that, agents are waiting for this process.
      settleBy = clock.monotonic() + SETTLE_MS;
      phase = 'settling';
      schedule();
    },
    waiting: () => {
      if (phase === 'reading') return 'the status branch is being read';
      if (phase !== 'settling') return undefined;
      return `waiting for agents to come back, at most ${SETTLE_MS / 1000} s from the start`;
    },
    committed: () => {
      renderer.note();
      if (renderer.hasWork()) schedule();
    },
    stop: () => {
      phase = 'stopped';
      cancel?.();
      cancel = undefined;
    },
  };
}
