import type { FieldChange } from '../../adapters/kubernetes/cluster/preview.ts';
import type { ClusterName, FleetName } from '../../model/ids.ts';
import type { DesiredView } from '../../server/api.ts';
import type { KubeTarget } from '../kube.ts';

export interface AdoptRequest {
  readonly cluster: ClusterName;
  readonly fleet: FleetName;
  readonly kube: KubeTarget;
  /** What the cluster should hold, as the server says it or as a checkout does. */
  readonly desired:
    | { readonly type: 'server'; readonly items: readonly DesiredView[] }
    | { readonly type: 'checkout'; readonly folder: string };
}

/**
 * What a first sync would do with one object. `create`, `unchanged`, `change`: as they say. `adopt`: it is somebody
 * else's, and its manifest says that it is to be taken over. `refused`: it is somebody else's, and its manifest does not.
 * `conflict`: fields of it are declared by another manager, or it belongs to another fleet. `failed`: the API server would
 * not take it. `hidden`: a Secret of ours whose content the server does not tell.
 */
export type AdoptVerdict = 'create' | 'unchanged' | 'change' | 'adopt' | 'refused' | 'conflict' | 'failed' | 'hidden';

export interface AdoptedObject {
  readonly object: string;
  readonly verdict: AdoptVerdict;
  /** Who has it now; empty if nobody, or we. */
  readonly owner: string;
  readonly changes: readonly FieldChange[];
  readonly conflicts: readonly { readonly manager: string; readonly field: string }[];
  readonly message: string;
  readonly files: readonly string[];
}

export interface AdoptReport {
  readonly cluster: string;
  readonly server: string;
  readonly objects: readonly AdoptedObject[];
  readonly counts: Readonly<Record<AdoptVerdict, number>>;
}

/** Verdicts that ask for a person. */
export const NEEDS_PERSON: readonly AdoptVerdict[] = ['refused', 'conflict', 'failed'];
