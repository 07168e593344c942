import { agentWebhook } from '../../domains/installation.ts';
import { labelsOf, metadataOf } from '../../model/objects/object-key.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../model/text/json.ts';
import { isMissing, type KubeReader, OUR_PARTS, RESOURCES, read, refusalOf } from '../kube.ts';

/** The names of the objects of an installed agent. */
export interface InstalledAgent {
  readonly deployment: string;
  /** The Helm release; undefined if Helm has not installed it. */
  readonly release: string | undefined;
  readonly serviceAccount: string;
  /** ConfigMap with the name of the cluster and the address of the server. */
  readonly settings: string;
  readonly tokenSecret: string;
  /** ConfigMap with the authority of the server; undefined: there is none, or it is in a Secret. */
  readonly authority: { readonly name: string; readonly key: string } | undefined;
  /** MutatingWebhookConfiguration and Secret; undefined: the agent serves no webhook. */
  readonly webhook: { readonly configuration: string; readonly secret: string } | undefined;
}

/** The names in the manifests of `cluster register`. Kustomize adds a digest to some, Helm the name of a release. */
const USUAL: InstalledAgent = {
  deployment: 'fleetrelay-agent',
  release: undefined,
  serviceAccount: 'fleetrelay-agent',
  settings: 'fleetrelay-agent-settings',
  tokenSecret: 'fleetrelay-agent-token',
  authority: { name: 'fleetrelay-relay-ca', key: 'ca.crt' },
  webhook: undefined,
};

/** The names that the Deployment of the agent contains; the usual names if there is none, or it may not be read. */
export async function installedAgent(kube: KubeReader): Promise<InstalledAgent> {
  const answer = await read(kube, RESOURCES.deployments, { query: OUR_PARTS });
  const items = answer.type === 'ok' ? objectsOf(answer.body.items) : [];
  return items.map(agentOf).find((found) => found !== undefined) ?? USUAL;
}

/** The name of the cluster in the settings of its agent; undefined if there are none. Rejects if they cannot be read. */
export async function installedClusterName(kube: KubeReader): Promise<string | undefined> {
  const { settings } = await installedAgent(kube);
  const answer = await read(kube, RESOURCES.configMaps, { name: settings });
  if (isMissing(answer)) return undefined;
  if (answer.type !== 'ok') throw new Error(`${kube.client.server}: ${refusalOf(answer)}`);
  return isJsonObject(answer.body.data) ? String(answer.body.data.cluster) : '';
}

/** The token in the Secret of the agent; undefined: there is none, or it may not be read. */
export async function installedToken(kube: KubeReader): Promise<string | undefined> {
  const { tokenSecret } = await installedAgent(kube);
  const answer = await read(kube, RESOURCES.secrets, { name: tokenSecret });
  if (answer.type !== 'ok') return undefined;
  const token = textOf(objectOf(answer.body.data).token);
  return token === '' ? undefined : Buffer.from(token, 'base64').toString();
}

/** Rejects if Helm has installed the agent: only Helm may change its release. `helm` is the command that does. */
export async function refuseRelease(kube: KubeReader, helm: (release: string) => string): Promise<void> {
  const { deployment, release } = await installedAgent(kube);
  if (release === undefined) return;
  const { client, namespace } = kube;
  throw new Error(
    `the agent ${deployment} in namespace ${namespace} of ${client.server} was installed by Helm; ${helm(release)} --namespace ${namespace}`,
  );
}

function agentOf(deployment: JsonObject): InstalledAgent | undefined {
  const pod = memberOf(memberOf(deployment.spec, 'template'), 'spec');
  const container = objectsOf(pod.containers).find(({ args }) => Array.isArray(args) && args[0] === 'agent');
  if (container === undefined) return undefined;
  const cluster = objectsOf(container.env).find(({ name }) => name === 'CLUSTER');
  const volumes = new Map(objectsOf(pod.volumes).map((volume) => [volume.name, volume]));
  const ca = memberOf(volumes.get('ca'), 'configMap');
  const [item] = objectsOf(ca.items);
  const labels = labelsOf(deployment);
  const isRelease = labels['app.kubernetes.io/managed-by'] === 'Helm';
  return {
    deployment: textOf(metadataOf(deployment).name) || USUAL.deployment,
    release: isRelease ? textOf(labels['app.kubernetes.io/instance']) : undefined,
    serviceAccount: textOf(pod.serviceAccountName) || 'default',
    settings: textOf(memberOf(memberOf(cluster, 'valueFrom'), 'configMapKeyRef').name) || USUAL.settings,
    tokenSecret: textOf(memberOf(volumes.get('token'), 'secret').secretName) || USUAL.tokenSecret,
    authority: typeof ca.name === 'string' ? { name: ca.name, key: textOf(item?.key) || 'ca.crt' } : undefined,
    webhook: webhookIn(Array.isArray(container.args) ? container.args.map(textOf) : []),
  };
}

function webhookIn(args: readonly string[]): InstalledAgent['webhook'] {
  const given = (flag: string): string | undefined =>
    args.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);
  if (given('--webhook') === undefined || agentWebhook === undefined) return undefined;
  return {
    configuration: given('--webhook-configuration') ?? agentWebhook.configuration,
    secret: given('--webhook-secret') ?? agentWebhook.secret,
  };
}

function memberOf(value: JsonValue | undefined, member: string): JsonObject {
  return objectOf(objectOf(value)[member]);
}
