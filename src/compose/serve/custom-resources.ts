import { hostname } from 'node:os';
import { connectKube } from '../../adapters/kubernetes/api/connect.ts';
import { createCustomResources } from '../../adapters/kubernetes/resources/custom-resources.ts';
import { createResourceStatus } from '../../adapters/kubernetes/resources/resource-status.ts';
import { resourceKindOf } from '../../model/fleet/engine-kinds.ts';
import type { RelayConfig, SourceConfig } from '../../model/fleet/relay-config.ts';
import { given } from '../../model/values/given.ts';
import type { CustomResources } from '../../ports/custom-resources.ts';
import type { ResourceStatus } from '../../ports/resource-status.ts';
import { createKubernetesSource, type KubernetesSource } from '../../sources/kubernetes/kubernetes-source.ts';
import type { DecodeFile } from '../../sources/tree/tree-file.ts';
import type { Parts } from '../parts.ts';
import type { ProcessDeps } from './sources.ts';

/** The custom resources of one cluster: a source, and the target of their status. */
export interface CustomResourceSource {
  readonly source: KubernetesSource;
  readonly resources: CustomResources;
  /** Undefined: status is switched off. */
  readonly status: ResourceStatus | undefined;
  close(): Promise<void>;
}

/** Opens the configured sources of custom resources. Rejects with a text for a person if a cluster is not found. */
export async function openCustomResources(
  config: RelayConfig,
  version: string,
  decode: DecodeFile,
  deps: ProcessDeps,
  parts: Parts,
): Promise<readonly CustomResourceSource[]> {
  const opened: CustomResourceSource[] = [];
  for (const source of config.sources) {
    if (source.type !== 'kubernetes') continue;
    const open = () => openOne(source, config, version, { ...deps, decode });
    const close = async (made: CustomResourceSource): Promise<void> => {
      await made.source.stop();
      await made.close();
    };
    opened.push(await parts.open('the custom resources', open, close));
  }
  return opened;
}

async function openOne(
  { name, kubeconfig, context, namespaces, kinds }: Extract<SourceConfig, { readonly type: 'kubernetes' }>,
  { statusKubernetes, limits }: RelayConfig,
  version: string,
  deps: ProcessDeps & { readonly decode: DecodeFile },
): Promise<CustomResourceSource> {
  const { env } = deps;
  const inCluster = (kubeconfig ?? context) === undefined && (env.KUBERNETES_SERVICE_HOST ?? '') !== '';
  const connected = await connectKube(deps, {
    ...given({ kubeconfig, context }),
    inCluster,
    userAgent: `fleetrelay-server/${version}`,
    env,
  });
  if (!connected.ok) throw new Error(`the source ${name} cannot reach its cluster: ${connected.problem}`);
  const { client } = connected.value;
  const log = deps.log.child({ source: name });
  const resources = createCustomResources(
    { ...deps, log, client },
    { kinds: kinds.map(resourceKindOf), ...given({ namespaces }) },
  );
  const where = namespaces === undefined ? 'all namespaces' : namespaces.join(', ');
  const source = createKubernetesSource(
    { ...deps, resources },
    { name, address: `${client.server} (${where})`, limits: limits.revision },
  );
  const status = createResourceStatus(
    { ...deps, log, client, resourceOf: resources.resourceOf },
    { instance: hostname() },
  );
  return { source, resources, status: statusKubernetes.enabled ? status : undefined, close: () => client.close() };
}
