import type { Derived, Graph } from '../../../../engine/collections/types.ts';
import type { LiveObject } from '../../../../model/agent/agent.ts';
import { type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, textsOf } from '../../../../model/text/json.ts';
import { firstNames } from '../../../../model/text/messages.ts';
import type { BoundShoot } from '../binding.ts';
import type { ConditionFinding } from '../thresholds.ts';
import { type NamespaceReads, namespaceObstacle } from '../visibility.ts';

export const DEFINITION_KIND = 'apiextensions.k8s.io/CustomResourceDefinition';
/** The type of the constraint, and its reason. */
export const PROBLEMATIC_DEFINITIONS = 'CRDsWithProblematicConversionWebhooks';

const UPGRADE =
  'https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#upgrade-existing-objects-to-a-new-stored-version';

/** Most definitions that a message names. */
const MOST_NAMED = 50;

interface Reads extends NamespaceReads {
  readonly bindings: Derived<BoundShoot>;
}

/** Derives whether a Shoot has definitions whose objects a webhook must convert. Key: the Shoot's. */
export function deriveDefinitionFindings(graph: Graph, reads: Reads) {
  const { bindings, live, kinds, settings } = reads;
  const problems: Derived<true> = graph.derive<LiveObject, true>({
    name: 'problemsOfDefinitions',
    from: live,
    keys: (key) => key.startsWith(`${DEFINITION_KIND}/`),
    compute: ({ partition: cluster, key, value }, _read, emit) => {
      if (isProblematic(value.value)) emit(cluster, key, true);
    },
  });
  const byCluster = graph.index('problemsOfDefinitionsByCluster', problems, ({ partition: cluster }) => [cluster]);
  const findings = graph.derive<BoundShoot, ConditionFinding>({
    name: 'definitionsOfShoots',
    from: bindings,
    reads: [byCluster, kinds, live, settings],
    scope: ({ value: { cluster } }) => [cluster],
    compute: ({ key, value: { cluster, isIgnored } }, read, emit) => {
      if (isIgnored) return;
      const count = read.count(byCluster, cluster);
      if (count === 0) {
        emit('', key, namespaceObstacle(read, reads, cluster, '', DEFINITION_KIND) ?? GOOD);
        return;
      }
      const keys = read.first(byCluster, cluster, MOST_NAMED).map((each) => each.key as ObjectKey);
      const named = keys.map((each) => objectRefOf(each).name);
      const what = 'have multiple stored versions present and have a conversion webhook configured';
      const message = `Some CRDs in your cluster ${what}: ${firstNames(named, MOST_NAMED, count)}. Please see ${UPGRADE} for more details.`;
      const [first] = keys;
      const cause = first === undefined ? {} : { cause: { cluster, key: first } };
      emit('', key, { outcome: 'failed', reason: PROBLEMATIC_DEFINITIONS, message, ...cause });
    },
  });
  return { problems, findings };
}

function isProblematic({ spec, status }: JsonObject): boolean {
  const { strategy } = objectOf(objectOf(spec).conversion);
  return strategy === 'Webhook' && textsOf(objectOf(status).storedVersions).length > 1;
}

const GOOD: ConditionFinding = {
  outcome: 'good',
  reason: `No${PROBLEMATIC_DEFINITIONS}`,
  message: 'No CRDs with multiple stored versions have a conversion webhook configured.',
};
