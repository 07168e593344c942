import type { SourceName } from '../../model/fleet/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore, StoreEvent } from '../../ports/snapshot-store.ts';
import { createKeyedTask, type KeyedTask } from '../single-flight.ts';
import { jsonWrite } from '../stored/json-record.ts';

interface QueueDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Any replica may receive a hook: the store hands it to the leader, and keeps it over a restart. */
  readonly store: SnapshotStore;
  /** Works on one pull request. Never rejects. */
  readonly work: (source: SourceName, pullRequest: number, signal: AbortSignal) => Promise<void>;
  /** Whether work may begin: it waits until then. */
  readonly ready: () => boolean;
}

const PREFIX = 'pull-requests/';
/** Most pull requests of one source that wait. */
const MOST_WAITING = 100;
const READY_MS = 1_000;

/**
 * Pull requests that wait to be planned. The leader works on one at a time of each source, in the order of arrival. A pull request
 * that is requested again waits once; if it is being worked on, that work is aborted, so the newest state wins.
 */
export function createPullRequestQueue(deps: QueueDeps, sources: readonly SourceName[]) {
  const { store } = deps;
  let workers = new Map<string, Worker>();
  let unwatch = (): void => undefined;

  const begin = (): void => {
    workers = new Map(sources.map((source) => [source, createWorker(deps, source)]));
    unwatch = store.watch((event) => wakeBy(event, workers));
    for (const worker of workers.values()) worker.wake();
  };
  const end = async (): Promise<void> => {
    unwatch();
    const ending = [...workers.values()];
    workers = new Map();
    await Promise.all(ending.map((worker) => worker.stop()));
  };
  return {
    /** Resolves with false if too many wait. Rejects if the store does not answer. */
    request: async (source: SourceName, pullRequest: number): Promise<boolean> => {
      const key = keyOf(source, pullRequest);
      let waiting = 0;
      for await (const record of store.list(keyOf(source))) if (record.key !== key) waiting += 1;
      if (waiting >= MOST_WAITING) return false;
      await store.write([jsonWrite(key, { at: deps.clock.now() })]);
      workers.get(source)?.requested(String(pullRequest));
      return true;
    },
    /** This process begins or ends to lead. */
    lead: (leads: boolean): void => {
      if (!leads) void end();
      else if (workers.size === 0) begin();
    },
    /** Ends the work; what waits stays in the store. */
    stop: end,
  };
}

function keyOf(source: string, pullRequest: number | string = ''): string {
  return `${PREFIX}${source}/${pullRequest}`;
}

function wakeBy(event: StoreEvent, workers: ReadonlyMap<string, Worker>): void {
  if (event.type === 'up') for (const worker of workers.values()) worker.wake();
  if (event.type !== 'changed') return;
  for (const key of event.keys) {
    const [source = '', pullRequest = ''] = key.startsWith(PREFIX) ? key.slice(PREFIX.length).split('/') : [];
    workers.get(source)?.requested(pullRequest);
  }
}

type Worker = ReturnType<typeof createWorker>;

/** Works on the pull requests of one source while this process leads. */
function createWorker({ clock, log, store, work, ready }: QueueDeps, source: SourceName) {
  const stopping = new AbortController();
  let current: { readonly pullRequest: string; readonly superseded: AbortController } | undefined;

  const each = async (pullRequest: string): Promise<void> => {
    const key = keyOf(source, pullRequest);
    while (!ready() && !stopping.signal.aborted) await clock.sleep(READY_MS, stopping.signal);
    const record = await store.get(key);
    if (record === undefined || stopping.signal.aborted) return;
    const superseded = new AbortController();
    current = { pullRequest, superseded };
    await work(source, Number(pullRequest), AbortSignal.any([stopping.signal, superseded.signal]));
    current = undefined;
    // What was superseded is due again.
    if (stopping.signal.aborted || superseded.signal.aborted) return;
    // A record that was written meanwhile stays, and is worked on next.
    const outcome = await store.write([{ key, value: null, ifVersion: record.version }]);
    if (outcome === 'conflict') task.wake(pullRequest);
  };
  const all = async (): Promise<Iterable<string>> => {
    const waiting: string[] = [];
    for await (const { key } of store.list(keyOf(source))) waiting.push(key.slice(keyOf(source).length));
    return waiting;
  };
  const task: KeyedTask = createKeyedTask({ clock, log }, `planning pull requests of ${source}`, { each, all });
  return {
    /** Any of them may wait. */
    wake: () => task.wake(),
    /** This one was requested. */
    requested: (pullRequest: string): void => {
      if (current?.pullRequest === pullRequest) current.superseded.abort();
      task.wake(pullRequest);
    },
    stop: (): Promise<void> => {
      stopping.abort();
      return task.stop();
    },
  };
}
