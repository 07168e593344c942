import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import type { JsonObject } from '../../model/json.ts';
import { isMissing, isOffered, type Kube, nameOf, RESOURCES } from '../kube.ts';
import { type AgentManifestOptions, agentManifests } from '../manifests/agent-manifests.ts';
import { agentPolicy, isPolicy, POLICY_KIND } from '../manifests/agent-policy.ts';
import { agentRoles } from '../manifests/agent-roles.ts';
import { applyAll, type KubeApplying, removeOne } from '../manifests/apply.ts';
import { serverPlaces } from '../manifests/server-place.ts';
import type { Step } from '../step.ts';

/**
 * Applies the agent's manifests: beforehand the missing Namespaces in which it may write, since a Role is in each; afterwards it takes
 * away the roles of an earlier installation with more rights. Rejects with a text for a person.
 */
export async function installAgent(
  kube: Kube,
  given: AgentManifestOptions,
  applying: KubeApplying,
): Promise<{ readonly steps: readonly Step[]; readonly notes: readonly string[] }> {
  const servers = await serverPlaces(kube);
  const found = servers.type === 'found' ? servers.namespaces : [];
  const options = { ...given, serverNamespaces: [...new Set([...(given.serverNamespaces ?? []), ...found])] };
  const named = options.writable === 'all' ? [] : options.writable;
  const guarded = named.find((name) => options.serverNamespaces.includes(name));
  if (guarded !== undefined) {
    throw new Error(
      `in namespace ${guarded} of ${kube.client.server} is a management server: leave it out of --namespaces`,
    );
  }
  const missing = await missingNamespaces(kube, named);
  const manifests = agentManifests(options);
  const offered = manifests.filter((manifest) => !isPolicy(manifest) || isOffered(kube, manifest));
  const applied = await applyAll(kube, [...missing, ...offered], applying);
  const wanted = new Set(offered.map(nameOf));
  const policies = agentPolicy().filter((manifest) => isOffered(kube, manifest));
  const former: Step[] = [];
  for (const manifest of [...(await agentRoles(kube)), ...policies]) {
    if (!wanted.has(nameOf(manifest))) former.push(await removeOne(kube, manifest, applying.dryRun));
  }
  return {
    steps: [...applied, ...former.filter(({ outcome }) => outcome !== 'absent')],
    notes: notesOf(missing, offered.length < manifests.length),
  };
}

function notesOf(missing: readonly JsonObject[], lacksPolicy: boolean): readonly string[] {
  const rows: readonly (readonly [when: boolean, note: string])[] = [
    [
      missing.length > 0,
      `made: ${missing.map(nameOf).join(', ')}; where the repository declares one of them too, give it the annotation fleetrelay.dev/adopt: "true" there`,
    ],
    [
      lacksPolicy,
      `this API server is older than 1.30 and has no ${POLICY_KIND}: only RBAC keeps the agent out of kube-system and of the namespaces of fleetrelay`,
    ],
  ];
  return rows.filter(([when]) => when).map(([, note]) => note);
}

/** The Namespaces of these names that do not exist. What exists is not touched. */
async function missingNamespaces({ client }: Kube, names: readonly string[]): Promise<readonly JsonObject[]> {
  const missing: JsonObject[] = [];
  for (const name of names) {
    const answer = await client.request({
      method: 'GET',
      path: resourcePath({ resource: RESOURCES.namespaces, name }),
    });
    if (isMissing(answer)) missing.push({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  return missing;
}
