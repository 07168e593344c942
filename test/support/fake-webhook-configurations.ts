import type {
  ConfigurationOutcome,
  WebhookConfigurations,
} from '../../src/domains/care/ports/webhook-configurations.ts';
import { metadataOf, type ObjectKey, objectKey } from '../../src/model/objects/object-key.ts';
import { isJsonObject, type JsonObject, objectOf, objectsOf, textOf } from '../../src/model/text/json.ts';
import type { LiveState, ObservedObject } from '../../src/ports/cluster-api.ts';
import type { ResourceEvent } from '../../src/ports/resource-status.ts';

/** The key of a ValidatingWebhookConfiguration. */
export function configurationKey(name: string): ObjectKey {
  return objectKey({
    group: 'admissionregistration.k8s.io',
    kind: 'ValidatingWebhookConfiguration',
    namespace: '',
    name,
  });
}

/** A cluster that holds webhook configurations and changes them as an API server does, in memory. */
export function createFakeWebhookConfigurations() {
  const stored = new Map<ObjectKey, { readonly value: JsonObject; readonly manager: string }>();
  const events: (ResourceEvent & { readonly name: string })[] = [];
  const requests: { readonly key: ObjectKey; readonly dryRun: boolean; readonly resourceVersion: string }[] = [];
  const ours = new Set<ObjectKey>();
  let version = 0;
  let record: string | undefined;

  const fake = {
    stored,
    events,
    requests,
    /** Keys of what fleetrelay applies. */
    ours,
    /** Called before each change; its result replaces the answer. */
    before: (() => undefined) as (dryRun: boolean) => ConfigurationOutcome | undefined,
    /** The next calls of `save` reject. */
    isFull: false,
    record: (): JsonObject => objectOf(record === undefined ? {} : JSON.parse(record)),
    /** A field manager writes webhooks. */
    write(name: string, manager: string, webhook: JsonObject, labels: JsonObject = {}): void {
      version += 1;
      const metadata = { name, labels, uid: `uid-${name}`, resourceVersion: String(version) };
      const value = {
        kind: 'ValidatingWebhookConfiguration',
        metadata,
        webhooks: [{ name: 'a.example.com', ...webhook }],
      };
      stored.set(configurationKey(name), { value, manager });
    },
    webhook: (name: string): JsonObject => objectsOf(stored.get(configurationKey(name))?.value.webhooks)[0] ?? {},
    /** The state of the cluster; `changed` undefined: all of it. */
    live(changed?: readonly string[], paused = false): LiveState {
      const objects = new Map<ObjectKey, ObservedObject>(
        [...stored].map(([key, { value }]) => [
          key,
          {
            key,
            value,
            where: key,
            ...(ours.has(key) ? { stamp: { key, fleet: 'f', origins: [], scope: [] } as never } : {}),
          },
        ]),
      );
      const named = changed === undefined ? {} : { changed: new Set(changed.map(configurationKey)) };
      return { objects, kinds: [], diagnostics: [], paused, ...named };
    },
    webhooks: {
      read: async (key) => {
        const found = stored.get(key);
        if (found === undefined) return { type: 'gone' };
        const { value, manager } = found;
        return { type: 'found', configuration: { key, value, isOurs: ours.has(key), writerOf: () => manager } };
      },
      change: async ({ key, value: judged }, { changes, warning, dryRun }): Promise<ConfigurationOutcome> => {
        const instead: ConfigurationOutcome | undefined = fake.before(dryRun);
        if (instead !== undefined) return instead;
        const resourceVersion = textOf(metadataOf(judged).resourceVersion);
        requests.push({ key, dryRun, resourceVersion });
        const now = stored.get(key);
        if (now === undefined || metadataOf(now.value).resourceVersion !== resourceVersion) return { type: 'conflict' };
        if (dryRun) return { type: 'changed' };
        version += 1;
        const webhooks = objectsOf(now.value.webhooks).map((webhook) => ({
          ...webhook,
          ...Object.fromEntries(
            changes.filter((each) => each.webhook === webhook.name).map(({ field, to }) => [field, to]),
          ),
        }));
        const annotations = { 'gardener.cloud/warning': warning };
        const metadata = { ...metadataOf(now.value), annotations, resourceVersion: String(version) };
        stored.set(key, { value: { ...now.value, metadata, webhooks }, manager: 'fleetrelay-remediator' });
        return { type: 'changed' };
      },
      event: async ({ value }, event) => {
        events.push({ name: textOf(metadataOf(value).name), ...event });
      },
      load: async () => {
        const read: unknown = record === undefined ? undefined : JSON.parse(record);
        return isJsonObject(read as never) ? (read as JsonObject) : undefined;
      },
      save: async (next) => {
        if (fake.isFull) throw new Error('the record cannot be written');
        record = JSON.stringify(next);
      },
    } satisfies WebhookConfigurations,
  };
  return fake;
}
