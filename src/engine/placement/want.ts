import type { ClusterName, Digest } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { Origin } from '../../model/output.ts';

/** A live object of a cluster. */
export interface LiveRef {
  readonly cluster: ClusterName;
  readonly key: ObjectKey;
}

/** What makes a want a derived one: a domain computed it from live state. */
export interface DerivedWant {
  /** The name of the domain. */
  readonly domain: string;
  /** The live object that the wanted one stands for. */
  readonly standsFor: LiveRef;
  /**
   * An object of the same cluster that this one belongs to (an EndpointSlice to its Service). It must stand for the live
   * object named here; otherwise this want would become a part of another owner's object.
   */
  readonly requires?: { readonly key: ObjectKey; readonly standsFor: LiveRef };
}

/**
 * A finished object and the clusters that should hold it. Partition: the source of the document that it comes from. Key:
 * begins with the address of that document ({@link documentKey}), so that its line is found.
 */
export interface Want {
  readonly key: ObjectKey;
  readonly value: JsonObject;
  readonly digest: Digest;
  /** In canonical order. */
  readonly clusters: readonly string[];
  readonly origin: Origin;
  /** Of the document in its file. */
  readonly identity: string;
  /** Clusters whose live state it could have been computed from; none: it stands in a document as it is. */
  readonly scope: readonly ClusterName[];
  /** No source knows whether the kind is namespaced, and the manifest names no namespace. */
  readonly scopeUnknown: boolean;
  /** Absent: a document declares the object itself. */
  readonly derived?: DerivedWant;
}

/** Do both name the same live object? */
export function sameLive(a: LiveRef | undefined, b: LiveRef | undefined): boolean {
  return a?.key === b?.key && a?.cluster === b?.cluster;
}
