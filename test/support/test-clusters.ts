import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A kind of cluster that suites of a whole fleet run on. */
export interface ClusterKind {
  readonly name: string;
  /** Its programs are not here. */
  readonly missing: boolean;
  readonly capabilities: ClusterCapabilities;
  /** Opened once by a test file. */
  open(): ClusterPool;
}

/** Where kinds of clusters differ, and suites ask for it. */
export interface ClusterCapabilities {
  /** What a refusal of an object of 5 MB says; undefined: it is taken. */
  readonly tooLarge: RegExp | undefined;
  /** What is said of a cluster that cannot be looked at. */
  readonly cannotLook: RegExp;
}

/** Clusters that are used again by one fleet after the other. */
export interface ClusterPool {
  /** An empty cluster for a fleet; its agent may keep things of its own in `folder`. */
  take(folder: string): Promise<TestCluster>;
  /** The fleet is gone: all clusters may be taken again. */
  release(): void;
  stop(): Promise<void>;
}

/** One cluster, and what people do in it. Objects are named as `explain` does: `ConfigMap/web/a`. */
export interface TestCluster {
  /** Arguments of `fleetrelay agent` that say which cluster it keeps. */
  readonly agentArgs: readonly string[];
  /** The object as text; undefined if it is not there. */
  live(object: string): Promise<string | undefined>;
  /** Replaces text in a live object, as a person would. */
  edit(object: string, from: string, to: string): Promise<void>;
  remove(object: string): Promise<void>;
  /** The stop button. */
  pause(on: boolean): Promise<void>;
  /** The cluster cannot be looked at any more, until the returned function brings it back. */
  takeAway(): Promise<() => Promise<void>>;
}

/** Folders of YAML files. */
export const directoryClusters: ClusterKind = {
  name: 'directory',
  missing: false,
  capabilities: { tooLarge: undefined, cannotLook: /folder/ },
  open: () => ({
    take: async (folder) => createDirectoryTestCluster(folder),
    release: () => undefined,
    stop: async () => undefined,
  }),
};

function createDirectoryTestCluster(folder: string): TestCluster {
  mkdirSync(folder, { recursive: true });
  const path = (object: string): string => {
    const [kind = '', namespace = '', name = ''] = object.split('/');
    const where = namespace === '' ? 'cluster' : join('namespaces', namespace);
    return join(folder, where, kind.toLowerCase(), `${name}.yaml`);
  };
  const read = (object: string): string | undefined =>
    existsSync(path(object)) ? readFileSync(path(object), 'utf8') : undefined;
  return {
    agentArgs: ['--directory', folder],
    live: async (object) => read(object),
    edit: async (object, from, to) => {
      mkdirSync(dirname(path(object)), { recursive: true });
      writeFileSync(path(object), (read(object) ?? '').replace(from, to));
    },
    remove: async (object) => rmSync(path(object)),
    pause: async (on) => {
      if (on) writeFileSync(join(folder, 'paused'), '');
      else rmSync(join(folder, 'paused'));
    },
    takeAway: async () => {
      const aside = `${folder}-aside`;
      renameSync(folder, aside);
      return async () => renameSync(aside, folder);
    },
  };
}
