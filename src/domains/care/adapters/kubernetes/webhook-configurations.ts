import type { KubeAnswer, KubeClient } from '../../../../adapters/kubernetes/api/types.ts';
import { byTimeDescending, child, fieldManagers } from '../../../../adapters/kubernetes/cluster/ownership.ts';
import { failureOf } from '../../../../adapters/kubernetes/cluster/refusals.ts';
import { readStamp } from '../../../../adapters/kubernetes/cluster/stamp.ts';
import { findResource, pathOf, send, uidOf, type Writing } from '../../../../adapters/kubernetes/cluster/write.ts';
import { configMapPath } from '../../../../adapters/kubernetes/inventory/pieces.ts';
import { answerText } from '../../../../adapters/kubernetes/inventory/requests.ts';
import { createEventRecorder } from '../../../../adapters/kubernetes/resources/event-recorder.ts';
import { metadataOf, type ObjectKey } from '../../../../model/objects/object-key.ts';
import { WARNING_ANNOTATION } from '../../../../model/objects/webhooks/problematic.ts';
import { isJsonObject, type JsonObject, objectOf, parseJson, textOf } from '../../../../model/text/json.ts';
import type { WebhookChange } from '../../model/remediate.ts';
import { REMEDIATION_RECORD } from '../../model/remediations.ts';
import type {
  ConfigurationChange,
  ConfigurationOutcome,
  ConfigurationRead,
  LiveConfiguration,
  WebhookConfigurations,
} from '../../ports/webhook-configurations.ts';

/** The field manager of the remediator's changes. */
const FIELD_MANAGER = 'fleetrelay-remediator';
const RECORD = 'record';
const CONTROLLER = 'fleetrelay.dev/agent';

/** The webhook configurations behind an API server. `holder`: name of this process, in Events. */
export function createWebhookConfigurations(
  writing: Writing,
  { namespace, holder = 'agent' }: { readonly namespace: string; readonly holder?: string },
): WebhookConfigurations {
  const recorder = createEventRecorder(writing, { instance: holder, controller: CONTROLLER });
  return {
    read: (key) => readConfiguration(writing, key),
    change: (judged, change) => changeConfiguration(writing, judged, change),
    event: ({ key, value }, event) => {
      const target = { key, uid: uidOf(value), resourceVersion: '', apiVersion: textOf(value.apiVersion) };
      return recorder.record(target, event);
    },
    ...createRecord(writing, namespace),
  };
}

async function readConfiguration(writing: Writing, key: ObjectKey): Promise<ConfigurationRead> {
  const resource = await findResource(writing, key);
  if ('type' in resource) return { type: 'refused', isForbidden: false, message: resource.message };
  const answer = await writing.client.request({ method: 'GET', path: pathOf(resource, key) });
  if (answer.type === 'ok') return { type: 'found', configuration: liveConfiguration(key, answer.body) };
  if (answer.type === 'refused' && answer.status === 404) return { type: 'gone' };
  return refused(answer);
}

function liveConfiguration(key: ObjectKey, value: JsonObject): LiveConfiguration {
  return {
    key,
    value,
    isOurs: readStamp(value)?.stamp?.key === key,
    writerOf: (webhook, field) => writerOf(value, webhook, field),
  };
}

/** A manager that changes a value becomes the only owner of the field. */
function writerOf(value: JsonObject, webhook: string, field: WebhookChange['field']): string {
  const others = fieldManagers(value)
    .filter(({ manager }) => manager !== FIELD_MANAGER)
    .toSorted(byTimeDescending);
  const owner = others.find(({ fields }) => {
    const own = child(child(fields, 'f:webhooks'), `k:${JSON.stringify({ name: webhook })}`);
    return own?.[`f:${field}`] !== undefined;
  });
  return (owner ?? others[0])?.manager || 'a manager without a name';
}

async function changeConfiguration(
  writing: Writing,
  { key, value }: LiveConfiguration,
  { changes, warning, dryRun }: ConfigurationChange,
): Promise<ConfigurationOutcome> {
  const resource = await findResource(writing, key);
  if ('type' in resource) return { type: 'refused', isForbidden: false, message: resource.message };
  const webhooks = [...Map.groupBy(changes, ({ webhook }) => webhook)].map(([name, fields]) => ({
    name,
    ...Object.fromEntries(fields.map(({ field, to }) => [field, to])),
  }));
  const { uid, resourceVersion } = metadataOf(value);
  const answer = await send(writing, {
    method: 'PATCH',
    path: pathOf(resource, key),
    query: { fieldManager: FIELD_MANAGER, ...(dryRun ? { dryRun: 'All' } : {}) },
    // Webhooks are merged by name: everything else in them stays.
    contentType: 'application/strategic-merge-patch+json',
    body: { metadata: { uid, resourceVersion, annotations: { [WARNING_ANNOTATION]: warning } }, webhooks },
  });
  switch (answer.type) {
    case 'ok':
      return { type: 'changed' };
    case 'paused':
    case 'failed':
      return { type: 'hindered' };
    case 'unreachable':
      return { type: 'unanswered', message: answerText(answer) };
    case 'refused':
      return answer.status === 409 || answer.status === 404 ? { type: 'conflict' } : refused(answer);
  }
}

function refused(answer: Exclude<KubeAnswer, { type: 'ok' }>) {
  // Webhooks and policies that deny a request answer 403, too.
  const isForbidden = failureOf(answer, false).reason === 'Forbidden';
  return { type: 'refused', isForbidden, message: answerText(answer) } as const;
}

/** A record in a ConfigMap. Each write is bound to the version before. */
function createRecord(
  { client, mayWrite }: { readonly client: KubeClient; readonly mayWrite: () => boolean },
  namespace: string,
): Pick<WebhookConfigurations, 'load' | 'save'> {
  /** Empty: it does not exist; undefined: not known. */
  let version: string | undefined;

  async function read(): Promise<JsonObject | undefined> {
    const answer = await client.request({ method: 'GET', path: configMapPath(namespace, REMEDIATION_RECORD) });
    if (answer.type === 'refused' && answer.status === 404) {
      version = '';
      return undefined;
    }
    if (answer.type !== 'ok') throw new Error(answerText(answer));
    version = textOf(metadataOf(answer.body).resourceVersion);
    const record = parseJson(textOf(objectOf(answer.body.data)[RECORD]));
    return isJsonObject(record) ? record : undefined;
  }

  function write(record: JsonObject): Promise<KubeAnswer> {
    const isNew = version === '';
    const metadata = { name: REMEDIATION_RECORD, namespace, ...(isNew ? {} : { resourceVersion: version }) };
    return client.request({
      method: isNew ? 'POST' : 'PUT',
      path: isNew ? configMapPath(namespace) : configMapPath(namespace, REMEDIATION_RECORD),
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { [RECORD]: JSON.stringify(record) } },
      maySend: mayWrite,
    });
  }

  return {
    load: read,
    save: async (record) => {
      if (version === undefined) await read();
      const answer = await write(record);
      if (answer.type === 'ok') {
        version = textOf(metadataOf(answer.body).resourceVersion);
        return;
      }
      // Also after an answer that was lost: the next call reads the version again.
      version = undefined;
      throw new Error(answerText(answer));
    },
  };
}
