import { resourcePath } from '../../../../adapters/kubernetes/api/paths.ts';
import type { KubeClient } from '../../../../adapters/kubernetes/api/types.ts';
import { answerText } from '../../../../adapters/kubernetes/inventory/requests.ts';
import { objectOf, objectsOf, textOf } from '../../../../model/text/json.ts';
import type { Log } from '../../../../ports/log.ts';
import type { InjectorSettings } from '../../model/injector-settings.ts';

/** What the agent says in the configuration of its webhook. */
export interface KeptFields {
  readonly failurePolicy: InjectorSettings['failurePolicy'];
  /** PEM; undefined: another program sets it. */
  readonly caBundle?: string;
}

const CONFIGURATIONS = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'mutatingwebhookconfigurations',
};

/**
 * Sets the kept fields of every webhook in a MutatingWebhookConfiguration where they differ. `missing`: there is no such
 * configuration. Rejects if the API server does not do it, also after a conflict.
 */
export async function keepConfiguration(
  { client, log }: { readonly client: KubeClient; readonly log: Log },
  name: string,
  { caBundle, failurePolicy }: KeptFields,
): Promise<'kept' | 'missing'> {
  const path = resourcePath({ resource: CONFIGURATIONS, name });
  const answer = await client.request({ method: 'GET', path });
  if (answer.type === 'refused' && answer.status === 404) return 'missing';
  if (answer.type !== 'ok') throw new Error(answerText(answer));
  const wanted = caBundle === undefined ? undefined : Buffer.from(caBundle).toString('base64');
  const changes = objectsOf(answer.body.webhooks).flatMap((webhook) => {
    const { name: hook, clientConfig, failurePolicy: policy } = webhook;
    const isTrusted = wanted === undefined || textOf(objectOf(clientConfig).caBundle) === wanted;
    if (isTrusted && policy === failurePolicy) return [];
    return [{ name: textOf(hook), failurePolicy, ...(isTrusted ? {} : { clientConfig: { caBundle: wanted } }) }];
  });
  if (changes.length === 0) return 'kept';
  const { resourceVersion } = objectOf(answer.body.metadata);
  const patched = await client.request({
    method: 'PATCH',
    path,
    query: { fieldManager: 'fleetrelay-agent' },
    contentType: 'application/strategic-merge-patch+json',
    // The version keeps a webhook that was removed meanwhile from coming back.
    body: { metadata: { resourceVersion: textOf(resourceVersion) }, webhooks: changes },
  });
  if (patched.type !== 'ok') throw new Error(answerText(patched));
  const fields = changes.some(({ clientConfig }) => clientConfig !== undefined) ? ['caBundle'] : [];
  log.info('the configuration of the webhook was set', { name, fields: [...fields, 'failurePolicy'] });
  return 'kept';
}
