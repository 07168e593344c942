import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Of the programs that `test/kubernetes/binaries` builds. */
export const KUBERNETES_VERSION = 'v1.36.3';

/** Programs of a Kubernetes control plane on this machine. */
export interface KubernetesBinaries {
  readonly etcd: string;
  readonly apiServer: string;
  readonly kubectl: string;
  /** Not among what `setup-envtest` brings. */
  readonly controllerManager: string | undefined;
}

/** Where `npm run kubernetes-binaries` puts what it builds. */
export function builtFolder(env: NodeJS.ProcessEnv = process.env): string {
  const cache = env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  return join(cache, 'fleetrelay', 'kubernetes', `${KUBERNETES_VERSION}-${process.platform}-${process.arch}`);
}

/** The programs in the folder that KUBEBUILDER_ASSETS names, or else those that were built here; undefined: neither. */
export function findKubernetesBinaries(env: NodeJS.ProcessEnv = process.env): KubernetesBinaries | undefined {
  const folder = env.KUBEBUILDER_ASSETS ?? builtFolder(env);
  const program = (name: string): string | undefined => {
    const path = join(folder, name);
    return existsSync(path) ? path : undefined;
  };
  const [etcd, apiServer, kubectl] = [program('etcd'), program('kube-apiserver'), program('kubectl')];
  if (etcd === undefined || apiServer === undefined || kubectl === undefined) return undefined;
  return { etcd, apiServer, kubectl, controllerManager: program('kube-controller-manager') };
}

/** For `describe.skipIf`: there is no control plane to be had. One line of `npm test` says so. */
export const noKubernetes = findKubernetesBinaries() === undefined;
/** For `describe.skipIf`: there is none that finalizes namespaces, collects garbage and rolls out. */
export const noControllers = findKubernetesBinaries()?.controllerManager === undefined;
