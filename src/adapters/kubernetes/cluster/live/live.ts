import type { KindState } from '../../../../model/agent.ts';
import type { AgentSettings } from '../../../../model/agent-settings.ts';
import { type Diagnostic, diagnosticOf } from '../../../../model/diagnostic.ts';
import { compareText } from '../../../../model/json.ts';
import { nameOfKind, type ObjectKey } from '../../../../model/object-key.ts';
import type { Clock } from '../../../../ports/clock.ts';
import type { LiveState } from '../../../../ports/cluster-api.ts';
import type { ReflectorDeps } from '../../api/reflector.ts';
import type { ApiCatalog, ApiResource, KubeClient } from '../../api/types.ts';
import type { Autoscaled } from './autoscaled.ts';
import { createAutoscaled } from './autoscaled.ts';
import { type CatalogRefresher, createCatalogRefresher } from './catalog-refresher.ts';
import type { LiveEntry } from './entry.ts';
import { createKindWatches, type KindWatches } from './kind-watches.ts';
import { createStopButton } from './stop-button.ts';
import { createLiveStore, type LiveStore } from './store.ts';

/** Live state of a cluster, followed. */
export interface Live {
  readonly objects: LiveStore['objects'];
  readonly autoscaled: Autoscaled;
  readonly catalog: CatalogRefresher;
  isPaused(): boolean;
  /** As `ClusterApi.list`. */
  list(depth: 'hinted' | 'complete'): Promise<LiveState>;
  watch(hint: () => void): () => void;
  configure(settings: AgentSettings): void;
  /** We own something of these kinds (`group/Kind`): they are followed from now on. */
  owns(kinds: Iterable<string>): void;
  /** What a write has answered, or a read that is as new. */
  wrote(entry: LiveEntry): void;
  removed(key: ObjectKey, uid: string): void;
  close(): Promise<void>;
}

/** Several events are one hint. */
const SETTLE_MS = 4;
const PROBE_MS = 5_000;
const SETTLED_MS = 5_000;

export function createLive(
  deps: ReflectorDeps,
  options: { readonly namespace: string; readonly catalog: ApiCatalog },
): Live {
  const { client, clock } = deps;
  const store = createLiveStore();
  const autoscaled = createAutoscaled();
  const hints = new Set<() => void>();
  let state: LiveState | undefined;
  let kindsChanged = true;
  let cancelHint: (() => void) | undefined;
  let started = false;
  const changedKinds = (): void => {
    kindsChanged = true;
  };
  const kinds: KindWatches = createKindWatches(deps, { store, autoscaled, news, stateChanged: changedKinds });
  const button = createStopButton(deps, { ...options, changed: news });
  const catalog = createCatalogRefresher(deps, options.catalog, (next) => {
    changedKinds();
    if (kinds.follow(next)) news();
  });

  return {
    objects: store.objects,
    autoscaled,
    catalog,
    isPaused: button.isOn,
    list,
    watch: (hint) => {
      hints.add(hint);
      return () => hints.delete(hint);
    },
    configure: (settings) => {
      changedKinds();
      kinds.configure(settings);
    },
    owns: kinds.owns,
    wrote: kinds.wrote,
    removed: kinds.removed,
    close,
  };

  async function list(depth: 'hinted' | 'complete'): Promise<LiveState> {
    if (!started) {
      started = true;
      kinds.start(catalog.current());
      catalog.start();
      button.start();
    }
    if (depth === 'complete')
      await Promise.all([state === undefined ? kinds.settled() : settledSoon(kinds, clock), button.look()]);
    if (kinds.allUnknown()) await probe(client);
    return current();
  }

  function current(): LiveState {
    const paused = button.isOn();
    if (state !== undefined && !store.hasChanged() && !kindsChanged && state.paused === paused) return state;
    const changed = store.takeChanged();
    state = {
      ...(state === undefined ? {} : { changed }),
      objects: store.objects,
      ...(kindsChanged || state === undefined ? kindStates(catalog.current(), kinds) : kindsOf(state)),
      paused,
    };
    kindsChanged = false;
    return state;
  }

  function news(): void {
    cancelHint ??= clock.schedule(SETTLE_MS, () => {
      cancelHint = undefined;
      for (const hint of hints) hint();
    });
  }

  async function close(): Promise<void> {
    cancelHint?.();
    hints.clear();
    await Promise.all([kinds.close(), catalog.stop(), button.stop()]);
  }
}

/** What is followed only from now on says by itself when it is known: a look at all the rest does not wait for it. */
async function settledSoon(kinds: KindWatches, clock: Clock): Promise<void> {
  const timeUp = new AbortController();
  await Promise.race([kinds.settled(), clock.sleep(SETTLED_MS, timeUp.signal)]);
  timeUp.abort();
}

/** Throws if the API server does not answer at all. */
async function probe(client: KubeClient): Promise<void> {
  const answer = await client.request({ method: 'GET', path: '/version', timeoutMs: PROBE_MS });
  if (answer.type === 'unreachable') throw new Error(`${client.server} cannot be asked: ${answer.message}`);
}

function kindsOf({ kinds, diagnostics }: LiveState): Pick<LiveState, 'kinds' | 'diagnostics'> {
  return { kinds, diagnostics };
}

function kindStates(catalog: ApiCatalog, watches: KindWatches): Pick<LiveState, 'kinds' | 'diagnostics'> {
  const states = new Map<string, KindState>();
  const diagnostics: Diagnostic[] = [];
  for (const resource of catalog.preferred) {
    const kind = nameOfKind(resource);
    states.set(kind, { kind, state: 'offered', message: '', scope: scopeOf(resource) });
  }
  for (const { resource, view, shown } of watches.all()) {
    const kind = nameOfKind(resource);
    const { state, message } = view.state();
    const scope = scopeOf(resource);
    if (shown && state === 'complete') states.set(kind, { kind, state, message: '', scope });
    // Of a kind of which only our own are looked at, what others have was never known.
    else if (shown || !states.has(kind)) states.set(kind, { kind, state: 'unknown', message, scope });
    if (!shown && state === 'unknown') diagnostics.push(notFollowed(kind, message));
  }
  return { kinds: [...states.values()].sort((a, b) => compareText(a.kind, b.kind)), diagnostics };
}

function notFollowed(kind: string, message: string): Diagnostic {
  return diagnosticOf({
    severity: 'warning',
    reason: 'KindNotFollowed',
    message: `what is applied of the kind ${kind} cannot be watched, so drift of it is not seen: ${message}`,
    hint: 'let the agent get, list and watch this kind',
  });
}

function scopeOf({ namespaced }: ApiResource): 'Namespaced' | 'Cluster' {
  return namespaced ? 'Namespaced' : 'Cluster';
}
