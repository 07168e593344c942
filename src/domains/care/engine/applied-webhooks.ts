import type { Collection, Derived, Graph } from '../../../engine/collections/types.ts';
import type { EngineDiagnostic } from '../../../engine/domain.ts';
import { isSameOrigin } from '../../../engine/fleet/elect.ts';
import { type DocumentValue, documentRefOf, originOf } from '../../../engine/fleet/sources.ts';
import type { Progress } from '../../../engine/status/progress.ts';
import type { AgentNeeds } from '../../../model/agent/agent-settings.ts';
import { type ObjectKey, objectKey } from '../../../model/objects/object-key.ts';
import { objectsOf } from '../../../model/text/json.ts';
import { counted, cutText, firstNames } from '../../../model/text/messages.ts';
import { mendedYaml, remediateConfiguration, type WebhookChange } from '../model/remediate.ts';
import { WEBHOOK_KINDS } from './constraints/webhooks.ts';

/** A declared webhook configuration that the remediator would change. */
interface Mendable {
  readonly key: ObjectKey;
  readonly webhooks: readonly { readonly index: number; readonly changes: readonly WebhookChange[] }[];
}

/** Derives the declared webhook configurations that the remediator would change. Partition and key: the document's. */
export function deriveMendable(graph: Graph, documents: Collection<DocumentValue>): Derived<Mendable> {
  return graph.derive<DocumentValue, Mendable>({
    name: 'mendableConfigurations',
    from: documents,
    keys: (key) => WEBHOOK_KINDS.some((kind) => key.includes(`\u0000${kind}/`)),
    compute: ({ partition: source, key, value: { content, refusal } }, _read, emit) => {
      if (content.type !== 'object' || refusal !== undefined) return;
      const { changes } = remediateConfiguration(content.value);
      if (changes.length === 0) return;
      const names = objectsOf(content.value.webhooks).map(({ name }) => name);
      const webhooks = [...Map.groupBy(changes, ({ webhook }) => names.indexOf(webhook))].map(([index, own]) => ({
        index,
        changes: own,
      }));
      emit(source, key, { key: objectKey({ ...content.ref, namespace: '' }), webhooks });
    },
  });
}

interface Reads {
  readonly mendable: Collection<Mendable>;
  readonly needs: Collection<AgentNeeds>;
  readonly progress: Collection<Progress>;
}

/** What the remediators of clusters would change and leave alone, because fleetrelay applies it: at each webhook, with the mended YAML. */
export function appliedWebhooks({ mendable, needs, progress }: Reads): readonly EngineDiagnostic[] {
  const remediating = [...needs.entries('')].flatMap(({ key, value }) =>
    value.settings?.care?.webhookRemediator === undefined ? [] : [key],
  );
  if (remediating.length === 0) return [];
  return [...mendable.partitions()].flatMap((source) =>
    [...mendable.entries(source)].flatMap((entry) => {
      const origin = originOf({ partition: source, key: entry.key });
      const clusters = remediating.filter((cluster) =>
        progress.get(cluster, entry.value.key)?.origins.some((each) => isSameOrigin(each, origin)),
      );
      return clusters.length === 0 ? [] : diagnosticsOf(entry, clusters);
    }),
  );
}

const MOST_NAMED = 5;
/** Of one configuration. */
const MOST_WEBHOOKS = 20;
const LONGEST_HINT = 4_000;

function diagnosticsOf(
  {
    partition,
    key,
    value: { webhooks },
  }: { readonly partition: string; readonly key: string; readonly value: Mendable },
  clusters: readonly string[],
): readonly EngineDiagnostic[] {
  const named = firstNames(clusters, MOST_NAMED);
  const others = webhooks.length - MOST_WEBHOOKS;
  const rest = others > 0 ? ` (so it is with ${counted(others, 'more webhook')} of the configuration)` : '';
  return webhooks.slice(0, MOST_WEBHOOKS).map(({ index, changes }) => ({
    severity: 'warning',
    reason: 'WebhookLeftAlone',
    message: `the webhook remediator would change webhook ${JSON.stringify(changes[0]?.webhook)} in cluster ${named}, and leaves it alone because fleetrelay applies it${rest}`,
    hint: cutText(`write ${mendedYaml(changes)}`, LONGEST_HINT),
    at: [{ ...documentRefOf({ partition, key }), field: ['webhooks', index] }],
  }));
}
