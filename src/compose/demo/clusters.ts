import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { load } from 'js-yaml';
import type { JsonObject } from '../../model/json.ts';

/** An object of the story. */
export interface DemoObject {
  /** As in `ConfigMap` or `Deployment.apps`. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** One cluster of the demo, and what people do in it. */
export interface DemoCluster {
  /** Arguments of `fleetrelay agent` that say which cluster it keeps. */
  readonly agentArgs: readonly string[];
  /** The live object; undefined if it is not there. */
  read(object: DemoObject): Promise<JsonObject | undefined>;
  /** Sets one entry of a live ConfigMap, as a person would. */
  edit(object: DemoObject, entry: string, value: string): Promise<void>;
  remove(object: DemoObject): Promise<void>;
  /** What a person types to see an object as YAML. */
  showCommand(object: DemoObject): string;
  /** What a person types to set one entry of a live ConfigMap. */
  editCommand(object: DemoObject, entry: string, value: string): string;
}

/** Where the demo's clusters come from. */
export interface DemoClusters {
  /** For people: what they are. */
  readonly description: string;
  open(name: string): Promise<DemoCluster>;
  stop(): Promise<void>;
}

/** Folders of YAML files below this one. */
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
