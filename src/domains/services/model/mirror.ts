import type { ClusterChoice } from '../../../model/fleet/desired.ts';
import type { LabelSelector } from '../../../model/objects/label-selector.ts';

declare module '../../../model/fleet/desired.ts' {
  interface DeclarationValues {
    readonly ServiceMirror: ServiceMirror;
  }
}

/** What a `ServiceMirror` declares: services are made known in the clusters of `to`. */
export interface ServiceMirror {
  readonly name: string;
  readonly from: MirrorFrom;
  readonly to: ClusterChoice;
  /** Of Services in clusters; services of meshes have no labels. */
  readonly serviceSelector: LabelSelector;
  /** Of Services in clusters. */
  readonly namespaces: MirrorNamespaces;
  /** Of Services in clusters. */
  readonly copy: MirrorCopy;
}

/** Globs of the Namespaces whose Services are mirrored (see `matchesAnyName`); `exclude` wins. */
export interface MirrorNamespaces {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** Globs of the keys of labels and annotations that mirrored Services get from those that they stand for. */
export interface MirrorCopy {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
}

/**
 * What a ServiceMirror mirrors: the selected Services of clusters, or the services of all declared data planes of meshes
 * (`meshes` in canonical order, at least one). `namespace`: of the objects that are made for meshes.
 */
export type MirrorFrom =
  | { readonly type: 'clusters'; readonly clusters: ClusterChoice }
  | { readonly type: 'meshes'; readonly meshes: readonly string[]; readonly namespace: string };
