import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { load } from 'js-yaml';
import type { JsonObject } from '../../src/model/text/json.ts';

/** Identifies an object in a cluster. */
export interface DemoObject {
  /** `ConfigMap`, or with its group `Deployment.apps`. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** One cluster of the demo, with the actions of a person in it. */
export interface DemoCluster {
  /** Arguments of `fleetrelay agent` that name the cluster. */
  readonly agentArgs: readonly string[];
  /** Returns the live object; undefined: it does not exist. */
  read(object: DemoObject): Promise<JsonObject | undefined>;
  /** Sets one entry of a live ConfigMap. */
  edit(object: DemoObject, entry: string, value: string): Promise<void>;
  remove(object: DemoObject): Promise<void>;
  /** Shell command that prints an object as YAML. */
  showCommand(object: DemoObject): string;
  /** Shell command that sets one entry of a live ConfigMap. */
  editCommand(object: DemoObject, entry: string, value: string): string;
}

/** The clusters of the demo. */
export interface DemoClusters {
  /** For people. */
  readonly description: string;
  open(name: string): Promise<DemoCluster>;
  stop(): Promise<void>;
}

/** Directory clusters: a sub-folder each. */
export function directoryClusters(folder: string): DemoClusters {
  return {
    description: 'three agents whose clusters are folders',
    open: async (name) => {
      const directory = join(folder, name);
      await mkdir(directory, { recursive: true });
      return createDirectoryCluster(directory);
    },
    stop: async () => undefined,
  };
}

function createDirectoryCluster(directory: string): DemoCluster {
  const path = ({ kind, namespace, name }: DemoObject): string =>
    join(directory, 'namespaces', namespace, kind.toLowerCase(), `${name}.yaml`);
  return {
    agentArgs: ['--directory', directory],
    read: async (object) => {
      const text = await readFile(path(object), 'utf8').catch(() => '');
      return text === '' ? undefined : (load(text) as JsonObject);
    },
    edit: async (object, entry, value) => {
      const text = await readFile(path(object), 'utf8');
      await mkdir(dirname(path(object)), { recursive: true });
      await writeFile(path(object), text.replace(new RegExp(`${entry}: .*`), `${entry}: ${value}`));
    },
    remove: (object) => rm(path(object)),
    showCommand: (object) => `cat ${path(object)}`,
    editCommand: (object, entry, value) => `sed -i 's/${entry}: .*/${entry}: ${value}/' ${path(object)}`,
  };
}
