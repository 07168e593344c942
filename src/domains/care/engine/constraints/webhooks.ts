import type { Derived, Graph } from '../../../../engine/collections/types.ts';
import type { LiveObject } from '../../../../model/agent/agent.ts';
import { type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import { type ConfigurationProblem, problemOfConfiguration } from '../../../../model/objects/webhooks/describe.ts';
import { webhookConfigurationKinds } from '../../../../model/objects/webhooks/problematic.ts';
import type { BoundShoot } from '../binding.ts';
import type { ConditionFinding } from '../thresholds.ts';
import { type NamespaceReads, namespaceObstacle } from '../visibility.ts';

/** The live kinds that may block a cluster, in the order in which they are judged. */
export const WEBHOOK_KINDS = webhookConfigurationKinds.map((kind) => `admissionregistration.k8s.io/${kind}`);

interface Reads extends NamespaceReads {
  readonly bindings: Derived<BoundShoot>;
}

/**
 * Derives whether webhooks could keep a Shoot from waking up. Key: the Shoot's. The problem of each configuration is an entry of
 * its own: a change costs that configuration, and the first problem of the cluster.
 */
export function deriveWebhookFindings(graph: Graph, reads: Reads) {
  const { bindings, live, kinds, settings } = reads;
  const problems: Derived<ConfigurationProblem> = graph.derive<LiveObject, ConfigurationProblem>({
    name: 'problemsOfWebhooks',
    from: live,
    keys: (key) => WEBHOOK_KINDS.some((kind) => key.startsWith(`${kind}/`)),
    compute: ({ partition: cluster, key, value }, _read, emit) => {
      const { kind } = objectRefOf(key as ObjectKey);
      const problem = problemOfConfiguration({ ...value.value, kind });
      if (problem !== undefined) emit(cluster, key, problem);
    },
  });
  const byKind = graph.index('problemsOfWebhooksByKind', problems, ({ partition: cluster, key }) => {
    const { group, kind } = objectRefOf(key as ObjectKey);
    return [`${cluster}/${group}/${kind}`];
  });
  const findings = graph.derive<BoundShoot, ConditionFinding>({
    name: 'webhooksOfShoots',
    from: bindings,
    reads: [byKind, kinds, live, settings],
    scope: ({ value: { cluster } }) => [cluster],
    compute: ({ key, value: { cluster, isIgnored } }, read, emit) => {
      if (isIgnored) return;
      const [first] = WEBHOOK_KINDS.flatMap((kind) => read.first(byKind, `${cluster}/${kind}`, 1));
      // What was found counts, also if something else cannot be seen.
      if (first !== undefined) {
        const cause = { cluster, key: first.key as ObjectKey };
        emit('', key, { outcome: 'failed', ...first.value, codes: ['ERR_PROBLEMATIC_WEBHOOK'], cause });
        return;
      }
      const [unseen] = WEBHOOK_KINDS.flatMap((kind) => namespaceObstacle(read, reads, cluster, '', kind) ?? []);
      emit('', key, unseen ?? GOOD);
    },
  });
  return { problems, findings };
}

const GOOD: ConditionFinding = {
  outcome: 'good',
  reason: 'NoProblematicWebhooks',
  message: 'All webhooks are properly configured.',
};
