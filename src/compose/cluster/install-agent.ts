import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { MADE_FOR_AGENT } from '../../adapters/kubernetes/cluster/annotations.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { isMissing, isOffered, type Kube, nameOf, RESOURCES, refusalOf } from '../kube.ts';
import { type AgentManifestOptions, agentManifests, removedManifests } from '../manifests/agent-manifests.ts';
import { isPolicy, POLICY_KIND, protectedNamespaces } from '../manifests/agent-policy.ts';
import { AGENT_NAME } from '../manifests/agent-rights.ts';
import { installedRoles } from '../manifests/agent-roles.ts';
import { applyAll, type KubeApplying } from '../manifests/apply.ts';
import { otherAgentPlaces, removeParts } from '../manifests/remove.ts';
import { type ServerPlaces, serverPlaces } from '../manifests/server-place.ts';
import { notesThat, type Step } from '../step.ts';

/**
 * Applies the agent's manifests. The missing Namespaces in which the agent may write are made before, because a Role is in each. What
 * an earlier installation had besides is removed: its webhook first, roles and policy last. Rejects with a text for a person.
 */
export async function installAgent(
  kube: Kube,
  given: AgentManifestOptions,
  applying: KubeApplying,
): Promise<{ readonly steps: readonly Step[]; readonly notes: readonly string[] }> {
  const servers = await serverPlaces(kube);
  const others = await otherAgentPlaces(kube);
  const serverNamespaces = placesOfServers(kube, given, servers);
  // Other agents of the cluster are judged by the same policy.
  const before = others.length === 0 ? [] : await protectedBefore(kube);
  const options = { ...given, serverNamespaces: [...new Set([...serverNamespaces, ...before])] };
  const named = options.writable === 'all' ? [] : options.writable;
  const missing = await missingNamespaces(kube, named, options.namespace);
  const manifests = agentManifests(options);
  const offered = manifests.filter((manifest) => !isPolicy(manifest) || isOffered(kube, manifest));
  const wanted = new Set(offered.map(nameOf));
  const parts = [...removedManifests(kube.namespace), ...(await installedRoles(kube))];
  // Settings and Secrets stay: people make some of them.
  const former = parts.filter((part) => !/^(ConfigMap|Secret)$/.test(String(part.kind)) && !wanted.has(nameOf(part)));
  // A webhook that no agent serves any more would refuse Pods.
  const { first = [], last = [] } = Object.groupBy(former, ({ kind }) =>
    kind === 'MutatingWebhookConfiguration' ? 'first' : 'last',
  );
  const removing = { dryRun: applying.dryRun, others };
  return {
    steps: [
      ...(await removeParts(kube, first, removing)),
      ...(await applyAll(kube, [...missing, ...offered], applying)),
      ...(await removeParts(kube, last, removing)),
    ],
    notes: notesOf(missing, offered.length < manifests.length, servers),
  };
}

/** The Namespaces of management servers. Rejects if the agent is to write in one of them. */
function placesOfServers(
  { client }: Kube,
  { writable, serverNamespaces = [] }: AgentManifestOptions,
  servers: ServerPlaces,
): readonly string[] {
  const places = [...serverNamespaces, ...(servers.type === 'found' ? servers.namespaces : [])];
  const guarded = writable === 'all' ? undefined : writable.find((name) => places.includes(name));
  if (guarded === undefined) return places;
  throw new Error(`in namespace ${guarded} of ${client.server} is a management server: leave it out of --namespaces`);
}

/** The Namespaces that the policy in the cluster protects; none if there is no policy. */
async function protectedBefore({ client }: Kube): Promise<readonly string[]> {
  const path = resourcePath({ resource: RESOURCES.admissionPolicies, name: AGENT_NAME });
  const answer = await client.request({ method: 'GET', path });
  if (isMissing(answer)) return [];
  if (answer.type !== 'ok') throw new Error(`${client.server}: the policy cannot be read: ${refusalOf(answer)}`);
  return protectedNamespaces(answer.body);
}

function notesOf(missing: readonly JsonObject[], lacksPolicy: boolean, servers: ServerPlaces): readonly string[] {
  return notesThat([
    [
      missing.length > 0,
      `made: ${missing.map(nameOf).join(', ')}; where the repository declares one of them too, the fleet takes it over`,
    ],
    [
      lacksPolicy,
      `this API server is older than 1.30 and has no ${POLICY_KIND}: only RBAC keeps the agent out of kube-system and of the namespaces of fleetrelay`,
    ],
    [
      servers.type === 'refused',
      `whether a management server is in this cluster could not be seen${servers.type === 'refused' ? ` (${servers.message})` : ''}: register again as a user who may list StatefulSets, so that its Namespace is protected, too`,
    ],
  ]);
}

/** The Namespaces of these names that do not exist, for an agent. What exists is not touched. Rejects if one cannot be read. */
async function missingNamespaces(
  { client }: Kube,
  names: readonly string[],
  agentNamespace: string,
): Promise<readonly JsonObject[]> {
  const missing: JsonObject[] = [];
  for (const name of names) {
    const answer = await client.request({
      method: 'GET',
      path: resourcePath({ resource: RESOURCES.namespaces, name }),
    });
    const annotations = { [MADE_FOR_AGENT]: agentNamespace };
    if (isMissing(answer)) missing.push({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, annotations } });
    else if (answer.type !== 'ok') throw new Error(`Namespace/${name} cannot be read: ${refusalOf(answer)}`);
  }
  return missing;
}
