/** For whom a relay server has issued a certificate. */
export interface AgentIdentity {
  readonly fleet: string;
  readonly cluster: string;
  readonly clusterId: string;
}

const IDENTITY = /^spiffe:\/\/([^/]+)\/cluster\/([^/]+)\/id\/([^/]+)$/;

/** The name in a client certificate that says for whom it is. */
export function identityUri({ fleet, cluster, clusterId }: AgentIdentity): string {
  return `spiffe://${fleet}/cluster/${encodeURIComponent(cluster)}/id/${encodeURIComponent(clusterId)}`;
}

/** Reads such a name; undefined: it says something else. */
export function identityOf(uri: string): AgentIdentity | undefined {
  const [, fleet, cluster, clusterId] = IDENTITY.exec(uri) ?? [];
  if (fleet === undefined || cluster === undefined || clusterId === undefined) return undefined;
  try {
    return {
      fleet: decodeURIComponent(fleet),
      cluster: decodeURIComponent(cluster),
      clusterId: decodeURIComponent(clusterId),
    };
  } catch {
    return undefined;
  }
}
