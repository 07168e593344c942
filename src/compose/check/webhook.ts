import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../model/text/json.ts';
import { isMissing, type Kube, RESOURCES, refusalOf } from '../kube.ts';
import { certificateOf, dateRows } from './certificates.ts';
import { firstOf, type Row } from './finding.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** What a look at the configuration of the agent's webhook shows. Without its authority the API server reaches no webhook. */
export async function webhookRows(
  { client }: Pick<Kube, 'client'>,
  name: string,
  now: number,
): Promise<readonly Row[]> {
  const path = resourcePath({ resource: RESOURCES.mutatingWebhooks, name });
  const answer = await client.request({ method: 'GET', path });
  if (answer.type === 'ok') return objectsOf(answer.body.webhooks).flatMap((webhook) => trustRows(webhook, now));
  return firstOf([
    [isMissing(answer), 'error', 'WebhookMissing', 'the agent serves a webhook, but no Pod is sent to it'],
    [true, 'unknown', 'ObjectUnreadable', refusalOf(answer) ?? ''],
  ]);
}

function trustRows({ name, clientConfig, failurePolicy }: JsonObject, now: number): readonly Row[] {
  const bundle = Buffer.from(textOf(objectOf(clientConfig).caBundle), 'base64').toString('utf8');
  const authorities = (bundle.match(CERTIFICATE) ?? []).flatMap((pem) => certificateOf(pem) ?? []);
  // While the authority changes there are two; the one that lasts longer counts.
  const [newest] = authorities.toSorted((a, b) => Date.parse(b.validTo) - Date.parse(a.validTo));
  const whose = `the authority of the webhook ${textOf(name)}`;
  const effect = failurePolicy === 'Ignore' ? 'Pods that opted in keep their probes' : 'Pods that opted in are refused';
  if (newest === undefined) return [[true, 'error', 'WebhookNotTrusted', `${whose} is not set: ${effect}`]];
  return dateRows(newest, whose, now, 'the leading agent renews it, unless it is from elsewhere; look at its log');
}
