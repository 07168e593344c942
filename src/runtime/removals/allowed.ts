/**
 * The state of a removal that another replica may send. `stopped`: since it passed the guards it was held, or its object was declared
 * again. The other replica may have sent it before it knew that.
 */
type AllowedState = 'passed' | 'stopped';

/** The removals of one cluster that another replica may send, by object key. */
export type Allowed = ReadonlyMap<string, AllowedState>;

const NONE: Allowed = new Map();

/** Removals that have passed, and stopped ones. A key that is among both has passed. */
export function statesOf(passed: readonly string[], stopped: readonly string[]): Allowed {
  const states = (keys: readonly string[], state: AllowedState) => keys.map((key) => [key, state] as const);
  return new Map([...states(stopped, 'stopped'), ...states(passed, 'passed')]);
}

/**
 * By cluster: removals that another replica may send, or has sent while the ledger does not show it yet. `changed` is called with each
 * cluster after its removals may have changed.
 */
export function createAllowed(changed: (cluster: string) => void) {
  const known = new Map<string, Allowed>();
  const of = (cluster: string): Allowed => known.get(cluster) ?? NONE;
  const set = (cluster: string, states: Iterable<readonly [string, AllowedState]>): void => {
    const allowed = new Map(states);
    if (allowed.size === 0) known.delete(cluster);
    else known.set(cluster, allowed);
    changed(cluster);
  };
  return {
    of,
    clusters: (): readonly string[] => [...known.keys()],
    /** Adds `added`; then drops all for which `isStill` is false. */
    update: (cluster: string, isStill: (key: string) => boolean, added: Allowed = NONE): void =>
      set(
        cluster,
        [...of(cluster), ...added].filter(([key]) => isStill(key)),
      ),
    /** Marks those for which `hasStopped` is true. */
    stop: (cluster: string, hasStopped: (key: string) => boolean): void => {
      const keys = [...of(cluster)].flatMap(([key, state]) => (state === 'passed' && hasStopped(key) ? [key] : []));
      if (keys.length > 0) set(cluster, [...of(cluster), ...statesOf([], keys)]);
    },
    clear: (): void => known.clear(),
  };
}
