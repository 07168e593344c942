import { ok, problem, type Result } from '../values/result.ts';

declare const brand: unique symbol;

/** A string or number that only a parser can create: the type names the check that it has passed. */
export type Brand<Base, Name extends string> = Base & { readonly [brand]: Name };

/** Name of a cluster, as in `KubernetesCluster.metadata.name`. */
export type ClusterName = Brand<string, 'ClusterName'>;
/** Identity of a cluster: the UID of its namespace `kube-system`, or the content of the instance file of a directory cluster. */
export type ClusterId = Brand<string, 'ClusterId'>;
/** Name of the fleet. Every object carries it, so that a fleet never changes objects of another. */
export type FleetName = Brand<string, 'FleetName'>;
/** Name of a source in the server's configuration. */
export type SourceName = Brand<string, 'SourceName'>;
/** Lower-case hex sha256. */
export type Digest = Brand<string, 'Digest'>;

const DNS_LABEL = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;
const CLUSTER_ID = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/;
const DIGEST = /^[0-9a-f]{64}$/;

function dnsLabel<Name extends string>(what: string): (text: string) => Result<Name> {
  const rule = 'must be 1 to 63 lower-case letters, digits or "-", start with a letter and not end with "-"';
  return (text) => (DNS_LABEL.test(text) ? ok(text as Name) : problem(`${what} ${quote(text)} ${rule}`));
}

/** Parses a cluster name (a DNS label, because names are used in certificates, folders and metric labels). */
export const parseClusterName = dnsLabel<ClusterName>('cluster name');

/** Parses a fleet name (a DNS label). */
export const parseFleetName = dnsLabel<FleetName>('fleet name');

/** Parses a source name (a DNS label). */
export const parseSourceName = dnsLabel<SourceName>('source name');

/** Parses a cluster id: up to 128 letters, digits, `.`, `_` and `-`. */
export function parseClusterId(text: string): Result<ClusterId> {
  return CLUSTER_ID.test(text)
    ? ok(text as ClusterId)
    : problem(`cluster id ${quote(text)} must be 1 to 128 letters, digits, ".", "_" or "-"`);
}

/** Parses a digest from a store or the wire. */
export function parseDigest(text: string): Result<Digest> {
  return DIGEST.test(text) ? ok(text as Digest) : problem(`${quote(text)} is not a sha256 digest in lower-case hex`);
}

/** Quotes untrusted text for a message: shortens it and escapes control characters and invisible ones. */
export function quote(text: string): string {
  return quoteInFull(text.length > 80 ? `${text.slice(0, 77)}...` : text);
}

/** Spaces other than the ordinary one, and characters without width. */
const INVISIBLE = /[\u00a0\u00ad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]/g;

/** The text as JSON, in which invisible characters are escapes. */
export function quoteInFull(text: string): string {
  return JSON.stringify(text).replace(INVISIBLE, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
