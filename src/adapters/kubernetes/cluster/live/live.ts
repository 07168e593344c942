import type { KindState } from '../../../../model/agent/agent.ts';
import type { AgentSettings } from '../../../../model/agent/agent-settings.ts';
import { type Diagnostic, diagnosticOf } from '../../../../model/fleet/diagnostic.ts';
import type { LoadEvaluator } from '../../../../model/objects/health-check.ts';
import { nameOfKind } from '../../../../model/objects/object-key.ts';
import { compareText } from '../../../../model/text/json.ts';
import type { Clock } from '../../../../ports/clock.ts';
import type { LiveState } from '../../../../ports/cluster-api.ts';
import type { ApiCatalog, ApiResource, FollowerDeps, KubeClient } from '../../api/types.ts';
import { createAutoscaled } from './autoscaled.ts';
import { type CatalogRefresher, createCatalogRefresher } from './catalog-refresher.ts';
import { createJudgedStore } from './judged-store.ts';
import { createKinds, type Kinds } from './kinds.ts';
import { createStatuses, type Statuses } from './statuses.ts';
import { createStopButton } from './stop-button.ts';
import type { Trim } from './trim.ts';

const SETTLE_MS = 4;
const PROBE_MS = 5_000;
const SETTLED_MS = 5_000;

export type Live = ReturnType<typeof createLive>;

export interface LiveOptions {
  readonly namespace: string;
  readonly catalog: ApiCatalog;
  /** Makes what evaluates the health checks of the policy. Absent: they have no effect. */
  readonly loadEvaluator?: LoadEvaluator | undefined;
  /** Of kinds that domains read; absent: none. */
  readonly trims?: readonly Trim[] | undefined;
}

/** Follows the live state of a cluster. Nothing is followed before the first `list`. */
export function createLive(deps: FollowerDeps, options: LiveOptions) {
  const autoscaled = createAutoscaled();
  const hints = createHints(deps.clock);
  const { store, judge, ...health } = createJudgedStore(deps, options, hints.send);
  const reading = { judge, trim: all(options.trims ?? []) };
  let started = false;
  const kinds = createKinds(deps, {
    store,
    reading,
    autoscaled,
    news: hints.send,
    stateChanged: () => states.noteKinds(),
  });
  const statuses = createStatuses(deps, hints.send);
  const button = createStopButton(deps, options.namespace, hints.send);
  const catalog = createCatalogRefresher(deps, options.catalog, (next, isRedefined) => {
    states.noteKinds();
    if (!started) return;
    statuses.follow(next);
    if (kinds.follow(next) || isRedefined) hints.send();
  });

  const states = createStates({ store, statuses, kinds, catalog, isPaused: button.isOn });

  return {
    objects: store.objects,
    /** The statuses that are applied to objects of others. */
    statuses,
    reading,
    autoscaled,
    catalog,
    isPaused: button.isOn,
    list,
    watch: hints.add,
    configure,
    /** We own an object of these kinds in these Namespaces: they are followed from now on. */
    owns: kinds.owns,
    wrote: kinds.wrote,
    removed: kinds.removed,
    close,
  };

  function configure(settings: AgentSettings): void {
    states.noteKinds();
    health.configure(settings);
    kinds.configure(settings);
  }

  /** As `ClusterApi.list`. */
  async function list(depth: 'hinted' | 'complete'): Promise<LiveState> {
    if (!started) {
      started = true;
      kinds.follow(catalog.current());
      statuses.follow(catalog.current());
      catalog.start();
      button.start();
    }
    if (depth === 'complete') {
      await Promise.all([states.isFirst() ? kinds.settled() : settledSoon(kinds, deps.clock), button.look()]);
    }
    if (kinds.allUnknown()) await probe(deps.client);
    return states.current();
  }

  async function close(): Promise<void> {
    health.close();
    hints.close();
    await Promise.all([kinds.close(), statuses.close(), catalog.stop(), button.stop()]);
  }
}

interface StateParts {
  readonly store: ReturnType<typeof createJudgedStore>['store'];
  readonly statuses: Statuses;
  readonly kinds: Kinds;
  readonly catalog: CatalogRefresher;
  readonly isPaused: () => boolean;
}

/** Makes the live states, each from what has changed since the one before. */
function createStates({ store, statuses, kinds, catalog, isPaused }: StateParts) {
  let state: LiveState | undefined;
  let kindsChanged = true;
  return {
    isFirst: (): boolean => state === undefined,
    /** What is known of the kinds has changed. */
    noteKinds(): void {
      kindsChanged = true;
    },
    current(): LiveState {
      const paused = isPaused();
      const hasChanged = store.hasChanged() || statuses.hasChanged() || kindsChanged;
      if (state !== undefined && !hasChanged && state.paused === paused && state.redefined === undefined) return state;
      const [changed, changedStatuses] = [store.takeChanged(), statuses.takeChanged()];
      state = {
        ...(state === undefined ? {} : { changed, changedStatuses }),
        objects: store.objects,
        statuses: statuses.objects,
        ...(kindsChanged || state === undefined
          ? kindStates(catalog.current(), kinds)
          : { kinds: state.kinds, diagnostics: state.diagnostics }),
        ...saidBy(catalog),
        paused,
      };
      kindsChanged = false;
      return state;
    },
  };
}

/** One trim of all: each leaves the kinds of the others alone. */
function all(trims: readonly Trim[]): Trim {
  return (value) => trims.reduce((kept, trim) => trim(kept), value);
}

/** Calls its listeners once after several events. */
function createHints(clock: Clock) {
  const listeners = new Set<() => void>();
  let cancel: (() => void) | undefined;
  return {
    add(hint: () => void): () => void {
      listeners.add(hint);
      return () => listeners.delete(hint);
    },
    send(): void {
      cancel ??= clock.schedule(SETTLE_MS, () => {
        cancel = undefined;
        for (const hint of listeners) hint();
      });
    },
    close(): void {
      cancel?.();
      listeners.clear();
    },
  };
}

/** Waits for kinds that are followed newly, but not for long: they report a change themselves when they are listed. */
async function settledSoon(kinds: Kinds, clock: Clock): Promise<void> {
  const timeUp = new AbortController();
  await Promise.race([kinds.settled(), clock.sleep(SETTLED_MS, timeUp.signal)]);
  timeUp.abort();
}

/** Throws if the API server does not answer at all. */
async function probe(client: KubeClient): Promise<void> {
  const answer = await client.request({ method: 'GET', path: '/version', timeoutMs: PROBE_MS });
  if (answer.type === 'unreachable') throw new Error(`${client.server} cannot be asked: ${answer.message}`);
}

function saidBy(catalog: CatalogRefresher): Pick<LiveState, 'kubernetesVersion' | 'redefined'> {
  const { kubernetesVersion } = catalog.current();
  const redefined = catalog.takeRedefined();
  return {
    ...(kubernetesVersion === undefined ? {} : { kubernetesVersion }),
    ...(redefined.size === 0 ? {} : { redefined }),
  };
}

function kindStates(catalog: ApiCatalog, followed: Kinds): Pick<LiveState, 'kinds' | 'diagnostics'> {
  const states = new Map<string, KindState>();
  const diagnostics: Diagnostic[] = [];
  for (const resource of catalog.preferred) {
    const kind = nameOfKind(resource);
    states.set(kind, { kind, state: 'offered', message: '', scope: scopeOf(resource) });
  }
  for (const kind of followed.all()) {
    const { resource } = kind;
    const name = nameOfKind(resource);
    const { shown } = kind.plan();
    const { state, message, unlisted } = kind.state();
    const scope = scopeOf(resource);
    if (shown && state === 'complete') {
      states.set(name, { kind: name, state, message: '', scope, ...(unlisted === undefined ? {} : { unlisted }) });
      // Only our own objects are known of a kind that is not shown.
    } else if (shown || !states.has(name)) states.set(name, { kind: name, state: 'unknown', message, scope });
    const problem = kind.ownProblem();
    if (problem !== undefined) diagnostics.push(notFollowed(name, problem));
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
