import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** Version of Kubernetes that `npm run kubernetes-binaries` builds. */
export const KUBERNETES_VERSION = 'v1.36.3';

/** Paths of the programs of a Kubernetes control plane. */
export interface KubernetesPrograms {
  readonly etcd: string;
  readonly apiServer: string;
  readonly kubectl: string;
  /** `setup-envtest` does not bring it. */
  readonly controllerManager: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Folder of the programs that `npm run kubernetes-binaries` builds. */
export function builtFolder(env: Environment): string {
  const cache = env.XDG_CACHE_HOME ?? join(env.HOME ?? homedir(), '.cache');
  return join(cache, 'fleetrelay', 'kubernetes', `${KUBERNETES_VERSION}-${process.platform}-${process.arch}`);
}

/**
 * Finds the programs in the folder that KUBEBUILDER_ASSETS names. If it is not set: in {@link builtFolder}, else on the
 * PATH. Undefined: at least one is missing.
 */
export function findKubernetesPrograms(env: Environment): KubernetesPrograms | undefined {
  const { KUBEBUILDER_ASSETS: assets, PATH: path = '' } = env;
  if (assets !== undefined && assets !== '') return programsIn([assets]);
  return programsIn([builtFolder(env)]) ?? programsIn(path.split(delimiter).filter((folder) => folder !== ''));
}

/** Explains in lines where the programs were looked for, and how to get them. */
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
