import { AGENT_LABELS } from '../../../../adapters/kubernetes/agent-labels.ts';
import { resourcePath } from '../../../../adapters/kubernetes/api/paths.ts';
import type { KubeRequest } from '../../../../adapters/kubernetes/api/types.ts';
import { parseAuthorities, rootsText } from '../../../../adapters/tls/own-authority.ts';
import {
  canonicalJson,
  type JsonObject,
  type JsonValue,
  objectOf,
  parseJson,
  textOf,
} from '../../../../model/text/json.ts';
import { errorText } from '../../../../model/text/messages.ts';
import type { Log } from '../../../../ports/log.ts';
import { type InjectorSettings, parseInjectorSettings } from '../../model/injector-settings.ts';
import { NO_TRUST, type WebhookTrust } from './webhook-trust.ts';

/** What the replicas of an agent share for their webhook. */
export interface SharedWebhook {
  readonly trust: WebhookTrust;
  /** Undefined: no policy has reached an agent of this cluster yet. */
  readonly settings: InjectorSettings | undefined;
}

const SECRETS = { group: '', version: 'v1', resource: 'secrets' };
/** Creates the Secret without content. The content has another field manager. */
const CREATOR = 'fleetrelay-agent-maker';
const WRITER = 'fleetrelay-agent';

export interface SecretPlace {
  readonly namespace: string;
  readonly name: string;
}

/** The requests that read, create and write the Secret. */
export function secretRequests({ namespace, name }: SecretPlace) {
  const path = resourcePath({ resource: SECRETS, namespace, name });
  return {
    read: { method: 'GET', path } satisfies KubeRequest,
    /** By an apply, because rights for an apply can be limited to one name. */
    create: {
      method: 'PATCH',
      path,
      query: { fieldManager: CREATOR },
      contentType: 'application/apply-patch+yaml',
      body: { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, labels: AGENT_LABELS }, type: 'Opaque' },
    } satisfies KubeRequest,
    /** Bound to the version that was read. Members of others stay. */
    write: (secret: JsonObject, shared: SharedWebhook): KubeRequest => {
      const { managedFields: _, ...metadata } = objectOf(secret.metadata);
      const data = { ...objectOf(secret.data), ...encoded(shared) };
      return { method: 'PUT', path, query: { fieldManager: WRITER }, body: { ...secret, metadata, data } };
    },
  };
}

function encoded({ trust, settings }: SharedWebhook): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  if (settings !== undefined) texts['settings.json'] = canonicalJson(settings as unknown as JsonValue);
  if (trust.authorities.length > 0) {
    texts['ca.crt'] = rootsText(trust.authorities);
    texts['ca.key'] = trust.authorities.map(({ key = '' }) => key).join('');
    texts['announced.json'] = canonicalJson(trust.announced);
    texts['tls.crt'] = trust.served?.certificate ?? '';
    texts['tls.key'] = trust.served?.key ?? '';
  }
  return Object.fromEntries(
    Object.entries(texts).map(([member, text]) => [member, Buffer.from(text).toString('base64')]),
  );
}

/** Reads the Secret. Damaged parts are logged and count as absent. */
export function readShared({ data }: JsonObject, log: Log): SharedWebhook {
  const text = (member: string): string => Buffer.from(textOf(objectOf(data)[member]), 'base64').toString('utf8');
  const settings = text('settings.json');
  const parsed = settings === '' ? undefined : parseInjectorSettings(settings);
  if (parsed?.ok === false)
    log.error('the settings in the Secret of the webhook are damaged', { reason: parsed.problem });
  let trust = NO_TRUST;
  try {
    const announced = Object.entries(objectOf(parseJson(text('announced.json'))));
    const [certificate, key] = [text('tls.crt'), text('tls.key')];
    trust = {
      authorities: parseAuthorities(text('ca.crt'), text('ca.key')),
      announced: Object.fromEntries(announced.filter((each): each is [string, number] => typeof each[1] === 'number')),
      ...(certificate === '' || key === '' ? {} : { served: { certificate, key } }),
    };
  } catch (error) {
    log.error('the certificates in the Secret of the webhook are damaged', { reason: errorText(error) });
  }
  return { trust, settings: parsed?.ok === true ? parsed.value : undefined };
}
