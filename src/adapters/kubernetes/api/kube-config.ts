import { KubeConfig } from '@kubernetes/client-node';

/** An empty configuration of the library. In a module of its own, so that the bundle contains only this part of the library. */
export function createKubeConfig(): KubeConfig {
  return new KubeConfig();
}
