import { KubeConfig } from '@kubernetes/client-node';

/** An empty configuration of the library. A module by itself, so that a bundle leaves out the rest, though this is imported late. */
export function createKubeConfig(): KubeConfig {
  return new KubeConfig();
}
