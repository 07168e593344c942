import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../model/text/json.ts';
import { isMissing, RESOURCES, refusalOf } from '../kube.ts';
import type { AgentSubject } from './agent.ts';
import { certificateOf, dateRows } from './certificates.ts';
import { type Found, firstOf, foundAt, type Row } from './finding.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The configuration of the agent's webhook. Without its authority the API server reaches no webhook. */
export async function webhook({ kube: { client }, agent, now, fixes }: AgentSubject): Promise<readonly Found[]> {
  const name = agent.webhook?.configuration;
  if (name === undefined) return [];
  const path = resourcePath({ resource: RESOURCES.mutatingWebhooks, name });
  const answer = await client.request({ method: 'GET', path });
  const other = firstOf([
    [isMissing(answer), 'error', 'WebhookMissing', 'the agent serves a webhook, but no Pod is sent to it'],
    [true, 'unknown', 'ObjectUnreadable', refusalOf(answer) ?? ''],
  ]);
  const rows = answer.type === 'ok' ? objectsOf(answer.body.webhooks).flatMap((each) => trustRows(each, now)) : other;
  return foundAt(`MutatingWebhookConfiguration.admissionregistration.k8s.io/${name}`, rows, fixes);
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
