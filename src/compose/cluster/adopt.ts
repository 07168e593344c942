import { resolve } from 'node:path';
import { ownerOf } from '../../adapters/kubernetes/cluster/ownership.ts';
import {
  type FieldChange,
  openLooking,
  type Preview,
  previewApply,
} from '../../adapters/kubernetes/cluster/preview.ts';
import { managersOf } from '../../adapters/kubernetes/cluster/refusals.ts';
import { findResource, type Looking, pathOf } from '../../adapters/kubernetes/cluster/write.ts';
import type { DesiredView } from '../../api/server-api.ts';
import { NO_SETTINGS } from '../../model/agent/agent-settings.ts';
import type { ClusterName, FleetName } from '../../model/fleet/ids.ts';
import type { Origin } from '../../model/fleet/output.ts';
import {
  annotationOf,
  displayKey,
  type ObjectKey,
  objectRefOf,
  parseObjectKey,
} from '../../model/objects/object-key.ts';
import { isKeyOfSecret } from '../../model/objects/secret-values.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { must } from '../../model/values/result.ts';
import { desiredViews } from '../../runtime/api/views.ts';
import { openEvaluation } from '../evaluate.ts';
import {
  AGENT_NAMESPACE,
  isMissing,
  type Kube,
  type KubeIo,
  METADATA_ONLY,
  openKube,
  refusalOf,
  systemDeps,
} from '../kube.ts';
import type { KubeTarget } from '../options.ts';
import { readCheckout } from '../read-checkout.ts';

export interface AdoptRequest {
  readonly cluster: ClusterName;
  readonly fleet: FleetName;
  readonly kube: KubeTarget;
  /** What the cluster should hold: the list of the server, or a checkout to compute it from. */
  readonly desired:
    | { readonly type: 'server'; readonly items: readonly DesiredView[] }
    | { readonly type: 'checkout'; readonly folder: string };
}

/**
 * What a first sync would do with one object. `adopt`: another owner has it, and it may be taken over: its manifest says so, or it
 * is a Namespace that `cluster register` has made for this agent. `refused`: another owner has it, and it may not. `conflict`: another manager declares fields of it, or
 * another fleet owns it. `failed`: the API server would refuse it. `hidden`: our Secret, whose content the server keeps.
 */
export type AdoptVerdict = 'create' | 'unchanged' | 'change' | 'adopt' | 'refused' | 'conflict' | 'failed' | 'hidden';

export interface AdoptedObject {
  readonly object: string;
  readonly verdict: AdoptVerdict;
  /** The present owner; empty if there is none, or it is this fleet. */
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
}

const AT_ONCE = 8;

/** Asks the cluster's API server what a first sync would change. Writes nothing. Rejects with a text for a person. */
export async function previewAdoption(request: AdoptRequest, io: KubeIo): Promise<AdoptReport> {
  await using kube = await openKube(request.kube, io);
  const items = await desiredItems(request, kube, io.cwd);
  // A first sync leaves replicas to autoscalers too.
  const looking = await openLooking(kube.client, kube.catalog, {
    settings: NO_SETTINGS,
    // As at `cluster register`: the namespace of a context is for workloads.
    agentNamespace: request.kube.namespace ?? AGENT_NAMESPACE,
  });
  const judging: Judging = { looking, request, wanted: new Set(items.map(({ key }) => key)) };
  const objects: AdoptedObject[] = [];
  for (let start = 0; start < items.length; start += AT_ONCE) {
    objects.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map((item) => judgeObject(judging, item)))));
  }
  return { cluster: request.cluster, server: kube.client.server, objects };
}

interface Judging {
  readonly looking: Looking;
  readonly request: AdoptRequest;
  readonly wanted: ReadonlySet<string>;
}

async function desiredItems(
  { desired, cluster }: AdoptRequest,
  kube: Kube,
  cwd: string,
): Promise<readonly DesiredView[]> {
  if (desired.type === 'server') return desired.items;
  const checkout = await readCheckout(systemDeps(), resolve(cwd, desired.folder));
  const engine = openEvaluation(checkout);
  for (const { group, kind, namespaced } of kube.catalog.preferred) {
    const name = `${group}/${kind}`;
    const scope = namespaced ? 'Namespaced' : 'Cluster';
    engine.inputs.kinds.set(cluster, name, { kind: name, state: 'offered', message: '', scope });
  }
  engine.commit();
  if (engine.clusters.get('', cluster) === undefined) {
    throw new Error(`${checkout.folder} declares no KubernetesCluster ${cluster}`);
  }
  return desiredViews(engine, cluster, { withSecrets: true });
}

async function judgeObject(judging: Judging, item: DesiredView): Promise<AdoptedObject> {
  const key = must(parseObjectKey(item.key));
  const object = {
    object: displayKey(key),
    owner: '',
    changes: [],
    conflicts: [],
    message: item.message,
    files: item.origins.map(({ path }) => path),
  };
  if (item.value === null) {
    return isKeyOfSecret(key) ? { ...object, ...(await judgeHidden(judging, key)) } : { ...object, verdict: 'failed' };
  }
  const { fleet } = judging.request;
  // A preview knows no inventory.
  const stamp = { fleet, key, nonce: '', origins: item.origins as readonly Origin[], scope: [] };
  const preview = await previewApply(judging.looking, { key, value: item.value, stamp });
  return { ...object, ...verdictOf(judging, key, item.value, preview) };
}

type Judged = Partial<Pick<AdoptedObject, 'owner' | 'changes' | 'conflicts' | 'message'>> & {
  readonly verdict: AdoptVerdict;
};

function verdictOf({ wanted }: Judging, key: ObjectKey, value: JsonObject, preview: Preview): Judged {
  switch (preview.type) {
    case 'create':
    case 'unchanged':
      return { verdict: preview.type };
    case 'conflict':
      return { verdict: 'conflict', owner: preview.owner, message: preview.message };
    case 'failed':
      return comesBefore(key, preview.reason, wanted)
        ? { verdict: 'create', message: 'after its namespace or definition' }
        : { verdict: 'failed', message: preview.message };
    case 'change': {
      const { adopts = '', mayTakeOver = false, changes } = preview;
      const declared = preview.conflicts.filter(({ operation }) => operation === 'Apply');
      const conflicts = declared.map(({ manager, field }) => ({ manager, field }));
      const found = { owner: adopts, changes, conflicts };
      if (adopts !== '' && !mayTakeOver) {
        return { ...found, verdict: 'refused', message: `${adopts} has it` };
      }
      if (conflicts.length > 0 && !isSet(value, 'fleetrelay.dev/force-conflicts')) {
        const managers = managersOf(conflicts).join(', ');
        return { ...found, verdict: 'conflict', message: `${managers} declares fields of it too` };
      }
      return { ...found, verdict: adopts === '' ? 'change' : 'adopt' };
    }
  }
}

/** Whether the same sync creates the namespace or the definition that the object lacks now. */
function comesBefore(key: ObjectKey, reason: string, wanted: ReadonlySet<string>): boolean {
  const { namespace, group } = objectRefOf(key);
  if (reason === 'NoSuchKind') {
    return [...wanted].some((other) => other.startsWith('apiextensions.k8s.io/') && other.endsWith(`.${group}`));
  }
  return reason === 'NamespaceNotFound' ? wanted.has(`/Namespace//${namespace}`) : false;
}

function isSet(value: JsonObject, annotation: string): boolean {
  return annotationOf(value, annotation) === 'true';
}

/** Judges a Secret whose content the server keeps, by the owner of the live one. Does not ask for the live content. */
async function judgeHidden({ looking, request, wanted }: Judging, key: ObjectKey): Promise<Judged> {
  const resource = await findResource(looking, key);
  if ('type' in resource) return { verdict: 'failed', message: resource.message };
  const path = pathOf(resource, key);
  const answer = await looking.client.request({ method: 'GET', path, accept: METADATA_ONLY });
  if (isMissing(answer)) {
    const later = wanted.has(`/Namespace//${objectRefOf(key).namespace}`) ? 'after its namespace, if that is new' : '';
    return { verdict: 'create', message: later };
  }
  if (answer.type !== 'ok') return { verdict: 'failed', message: refusalOf(answer) ?? '' };
  const owner = ownerOf(answer.body, { fleet: request.fleet, key });
  const note = 'the server does not tell what a Secret holds; compare with --checkout DIR';
  if (owner.type === 'ours') return { verdict: 'hidden', message: note };
  return owner.adoptable
    ? {
        verdict: 'refused',
        owner: owner.owner,
        message: `${owner.owner} has it, unless its manifest has the annotation adopt; ${note}`,
      }
    : { verdict: 'conflict', owner: owner.owner, message: owner.message };
}
