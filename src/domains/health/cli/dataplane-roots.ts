import { lazy } from '../../../cli/lazy.ts';

/** The composition roots that the commands below `dataplane` start. */
export const dataplaneRoots = {
  bootstrap: lazy(async () => (await import('../compose/dataplane/bootstrap.ts')).dataplaneBootstrap),
  run: lazy(async () => (await import('../compose/dataplane/run.ts')).runDataplane),
};

export type DataplaneRoots = typeof dataplaneRoots;
