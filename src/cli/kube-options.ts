import type { Command } from 'commander';

/** Which cluster, as whom and in which namespace, as kubectl is told. */
export interface KubeFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
}

/** What was said of a cluster; undefined if nothing was. */
export function kubeTarget({ kubeconfig, context, namespace }: KubeFlags): KubeFlags | undefined {
  if ((kubeconfig ?? context ?? namespace) === undefined) return undefined;
  return {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    ...(namespace === undefined ? {} : { namespace }),
  };
}

/**
 * Adds kubectl's options. `cluster` says in words which cluster is meant, `namespace` what the namespace is for; without
 * the latter there is no such option.
 */
export function withKubeOptions(
  command: Command,
  { cluster, namespace }: { readonly cluster: string; readonly namespace?: string },
): Command {
  command
    .option(
      '--kubeconfig <file>',
      `kubeconfig of ${cluster} (default: what kubectl takes, KUBECONFIG or ~/.kube/config)`,
    )
    .option('--context <name>', 'context in it (default: the current one)');
  return namespace === undefined ? command : command.option('-n, --namespace <name>', namespace);
}
