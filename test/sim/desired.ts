import type { JsonObject } from '../../src/model/text/json.ts';

/** One document of a file, as the person means it. */
export type Doc =
  | { readonly type: 'cluster'; readonly name: string; readonly env: string }
  | {
      readonly type: 'placement';
      readonly name: string;
      /** Everything under this folder. */
      readonly folder: string;
      readonly names: readonly string[];
      readonly env: string | undefined;
    }
  | {
      readonly type: 'policy';
      readonly maxRemovalsPerCluster: number;
      readonly maxRemovalsPerFleet: number;
      readonly windowSeconds: number;
      /** Undefined: the policy states no percentages. */
      readonly percent: GuardPercent | undefined;
    }
  | { readonly type: 'approval'; readonly name: string; readonly digest: string }
  | { readonly type: 'object'; readonly object: ObjectDoc }
  /** Something that is written as it stands, and that no oracle knows. */
  | { readonly type: 'manifest'; readonly manifest: JsonObject };

export interface GuardPercent {
  readonly perCluster: number;
  readonly perFleet: number;
  /** Fewer owned objects than this are not judged by percentage. */
  readonly fromOwned: number;
}

export interface ObjectDoc {
  readonly kind: 'ConfigMap' | 'Namespace';
  readonly namespace: string;
  readonly name: string;
  readonly data: string;
}

/** How a file cannot be read. */
export type Breakage = 'syntax' | 'conflict' | 'unknown field' | 'no name';

/** One file; `broken`: no server can read it, and `docs` are its last readable documents. */
export interface FileModel {
  readonly docs: readonly Doc[];
  readonly broken: Breakage | undefined;
}

/** What a repository holds at one commit, by path. */
export type Tree = ReadonlyMap<string, FileModel>;

/** The key as the engine writes it: `group/Kind/namespace/name`. */
export function keyOfObject({ kind, namespace, name }: ObjectDoc): string {
  return `/${kind}/${namespace}/${name}`;
}

/** The object as it is to be in a cluster. */
export function valueOfObject({ kind, namespace, name, data }: ObjectDoc): JsonObject {
  return kind === 'Namespace'
    ? { apiVersion: 'v1', kind, metadata: { name, labels: { data } } }
    : { apiVersion: 'v1', kind, metadata: { name, namespace }, data: { value: data } };
}

/** The file as text. */
export function textOfFile({ docs, broken }: FileModel): string {
  const text = docs.map((doc) => JSON.stringify(manifestOf(doc), null, 1)).join('\n---\n');
  switch (broken) {
    case undefined:
      return `${text}\n`;
    case 'syntax':
      return `${text}\n---\n{ "kind": [\n`;
    case 'conflict':
      return `<<<<<<< ours\n${text}\n=======\n>>>>>>> theirs\n`;
    case 'unknown field':
      return `${text}\n---\napiVersion: fleetrelay.dev/v1alpha1\nkind: Placement\nmetadata:\n  name: typo\nspec:\n  pahts: []\n`;
    case 'no name':
      return `${text}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {}\n`;
  }
}

function manifestOf(doc: Doc): JsonObject {
  switch (doc.type) {
    case 'cluster':
      return {
        apiVersion: 'admin.gloo.solo.io/v2',
        kind: 'KubernetesCluster',
        metadata: { name: doc.name, namespace: 'gloo-mesh', labels: { env: doc.env } },
        spec: { clusterDomain: 'cluster.local' },
      };
    case 'placement':
      return {
        apiVersion: 'fleetrelay.dev/v1alpha1',
        kind: 'Placement',
        metadata: { name: doc.name },
        spec: {
          paths: [`${doc.folder}/**`],
          clusters: {
            ...(doc.names.length === 0 ? {} : { names: [...doc.names] }),
            ...(doc.env === undefined ? {} : { selector: { matchLabels: { env: doc.env } } }),
          },
        },
      };
    case 'policy':
      return {
        apiVersion: 'fleetrelay.dev/v1alpha1',
        kind: 'FleetPolicy',
        metadata: { name: 'fleet' },
        spec: {
          guards: {
            maxRemovalsPerCluster: doc.maxRemovalsPerCluster,
            maxRemovalsPerFleet: doc.maxRemovalsPerFleet,
            windowSeconds: doc.windowSeconds,
            ...(doc.percent === undefined
              ? {}
              : {
                  maxRemovalPercentPerCluster: doc.percent.perCluster,
                  maxRemovalPercentPerFleet: doc.percent.perFleet,
                  percentFromOwned: doc.percent.fromOwned,
                }),
          },
        },
      };
    case 'approval':
      return {
        apiVersion: 'fleetrelay.dev/v1alpha1',
        kind: 'RemovalApproval',
        metadata: { name: doc.name },
        spec: { digest: doc.digest },
      };
    case 'object':
      return valueOfObject(doc.object);
    case 'manifest':
      return doc.manifest;
  }
}
