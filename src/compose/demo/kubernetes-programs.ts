import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** Of the programs that `npm run kubernetes-binaries` builds. */
export const KUBERNETES_VERSION = 'v1.36.3';

/** Programs of a Kubernetes control plane on this machine. */
export interface KubernetesPrograms {
  readonly etcd: string;
  readonly apiServer: string;
  readonly kubectl: string;
  /** Not among what `setup-envtest` brings. */
  readonly controllerManager: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Where `npm run kubernetes-binaries` puts what it builds. */
export function builtFolder(env: Environment): string {
  const cache = env.XDG_CACHE_HOME ?? join(env.HOME ?? homedir(), '.cache');
  return join(cache, 'fleetrelay', 'kubernetes', `${KUBERNETES_VERSION}-${process.platform}-${process.arch}`);
}

/**
 * The programs in the folder that KUBEBUILDER_ASSETS names and nowhere else if it is set; otherwise those that were built
 * here, or those on the PATH. Undefined: there are none, or some are missing.
 */
export function findKubernetesPrograms(env: Environment): KubernetesPrograms | undefined {
  const { KUBEBUILDER_ASSETS: assets, PATH: path = '' } = env;
  if (assets !== undefined && assets !== '') return programsIn([assets]);
  return programsIn([builtFolder(env)]) ?? programsIn(path.split(delimiter).filter((folder) => folder !== ''));
}

/** How a person gets them, in lines. */
export function howToGetKubernetesPrograms(env: Environment): string {
  const { KUBEBUILDER_ASSETS: assets } = env;
  const looked =
    assets !== undefined && assets !== ''
      ? `KUBEBUILDER_ASSETS names ${assets}, which lacks some of them`
      : `looked in ${builtFolder(env)} and on the PATH`;
  return [
    `kube-apiserver, etcd and kubectl are not here (${looked}). Get them in one of two ways:`,
    '  download: export KUBEBUILDER_ASSETS=$(setup-envtest use -p path 1.36.x)',
    '            (go install sigs.k8s.io/controller-runtime/tools/setup-envtest@latest)',
    '  build:    npm run kubernetes-binaries   in a checkout; needs Go 1.26, takes about six minutes',
  ].join('\n');
}

function programsIn(folders: readonly string[]): KubernetesPrograms | undefined {
  const program = (name: string): string | undefined =>
    folders.map((folder) => join(folder, name)).find((path) => isExecutable(path));
  const [etcd, apiServer, kubectl] = [program('etcd'), program('kube-apiserver'), program('kubectl')];
  if (etcd === undefined || apiServer === undefined || kubectl === undefined) return undefined;
  return { etcd, apiServer, kubectl, controllerManager: program('kube-controller-manager') };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
