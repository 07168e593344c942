import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { dump, load } from 'js-yaml';
import { type JsonObject, objectOf } from '../../src/model/text/json.ts';

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
  /** The message of the refusal of an object of 5 MB; undefined: the object is accepted. */
  readonly tooLarge: RegExp | undefined;
  /** The reported problem of a cluster that cannot be listed. */
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
  /** Creates or replaces an object, as a person would. */
  put(object: JsonObject): Promise<void>;
  /** All that carries a fleet's stamp, by name. */
  owned(): Promise<ReadonlyMap<string, OwnedObject>>;
  /** The stop button. */
  pause(on: boolean): Promise<void>;
  /** The cluster cannot be listed any more, until the returned function is called. */
  takeAway(): Promise<() => Promise<void>>;
}

/** An object of ours as it lies in a cluster. */
export interface OwnedObject {
  readonly value: JsonObject;
  /** Another after each write, also of the same contents. */
  readonly version: string;
}

/** How tests name an object: `Deployment.apps/web/a`. */
export function nameOf({ apiVersion, kind, metadata }: JsonObject): string {
  const group = String(apiVersion).split('/').slice(0, -1).join('');
  const { namespace = '', name } = objectOf(metadata);
  return `${kind}${group === '' ? '' : `.${group}`}/${namespace}/${name}`;
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
    put: async (object) => {
      const file = path(nameOf(object));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, dump(object));
    },
    owned: async () => ownedBelow(folder),
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

function ownedBelow(folder: string): ReadonlyMap<string, OwnedObject> {
  const owned = new Map<string, OwnedObject>();
  for (const top of ['namespaces', 'cluster']) {
    if (!existsSync(join(folder, top))) continue;
    const files = readdirSync(join(folder, top), { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((name) => /\/[^./][^/]*\.yaml$/.test(name))) {
      const path = join(folder, top, file);
      const value = load(readFileSync(path, 'utf8')) as JsonObject;
      if (objectOf(objectOf(value.metadata).annotations)['fleetrelay.dev/fleet'] === undefined) continue;
      const { mtimeNs, ino } = statSync(path, { bigint: true });
      owned.set(nameOf(value), { value, version: `${mtimeNs} ${ino}` });
    }
  }
  return owned;
}
