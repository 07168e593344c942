import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { ok, problem, type Result } from '../../../model/values/result.ts';
import { createKubeClient } from './client.ts';
import { createCredentials } from './credentials.ts';
import { type KubeconfigContext, readKubeconfig } from './kubeconfig.ts';
import type { FollowerDeps, KubeClient } from './types.ts';

export interface ConnectKubeOptions {
  /** A file. Default: the files of KUBECONFIG, else `~/.kube/config`. */
  readonly kubeconfig?: string;
  /** Default: the current context of the file. */
  readonly context?: string;
  /** Uses the ServiceAccount of the pod that this process runs in, and no kubeconfig. */
  readonly inCluster?: boolean;
  /** `fleetrelay-agent/VERSION`. */
  readonly userAgent: string;
  /** Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The folder of the pod's credentials; default: where Kubernetes mounts it. */
  readonly serviceAccountFolder?: string;
}

/** A connection to an API server. No request has been sent yet. */
export interface KubeConnection {
  readonly client: KubeClient;
  /** Of the context or of the ServiceAccount. */
  readonly namespace: string | undefined;
}

const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Finds the API server and the user by kubectl's rules. The problem says which file or context is missing. */
export async function connectKube(
  deps: Omit<FollowerDeps, 'client'>,
  options: ConnectKubeOptions,
): Promise<Result<KubeConnection>> {
  const find = (): Promise<Result<KubeconfigContext>> =>
    options.inCluster === true
      ? findServiceAccount(options)
      : readKubeconfig(kubeconfigFiles(options), options.context);
  const found = await find();
  if (!found.ok) return found;
  const { server, namespace, cluster, name } = found.value;
  if (cluster['insecure-skip-tls-verify'] === true) {
    deps.log.warn('the certificate of the API server is not checked', { server, context: name });
  }
  const credentials = createCredentials(deps.clock, async () => {
    const again = await find();
    if (!again.ok) return again;
    if (again.value.server !== server)
      return problem(`the kubeconfig now names another server (${again.value.server})`);
    return again;
  });
  const client = createKubeClient({ ...deps, credentials }, { server, userAgent: options.userAgent });
  return ok({ client, namespace });
}

function kubeconfigFiles({ kubeconfig, env = process.env }: ConnectKubeOptions): readonly string[] {
  if (kubeconfig !== undefined) return [kubeconfig];
  const named = (env.KUBECONFIG ?? '').split(delimiter).filter((file) => file !== '');
  return named.length > 0 ? named : [join(env.HOME ?? homedir(), '.kube', 'config')];
}

async function findServiceAccount(options: ConnectKubeOptions): Promise<Result<KubeconfigContext>> {
  const { env = process.env, serviceAccountFolder: folder = SERVICE_ACCOUNT_FOLDER } = options;
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env;
  if (host === undefined || host === '') {
    return problem(
      'this does not run in a pod: KUBERNETES_SERVICE_HOST is not set; name a cluster with --kubeconfig FILE',
    );
  }
  const tokenFile = join(folder, 'token');
  const token = await readFile(tokenFile, 'utf8').catch(() => undefined);
  if (token === undefined) {
    return problem(`${tokenFile} cannot be read; the pod needs a ServiceAccount with automountServiceAccountToken`);
  }
  const namespace = await readFile(join(folder, 'namespace'), 'utf8').catch(() => '');
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return ok({
    name: 'in-cluster',
    server,
    cluster: { server, 'certificate-authority': join(folder, 'ca.crt') },
    user: { tokenFile },
    namespace: namespace.trim() === '' ? undefined : namespace.trim(),
  });
}
