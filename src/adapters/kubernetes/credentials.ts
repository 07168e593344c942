import { canonicalJson, type JsonObject, objectOf, textOf } from '../../model/text/json.ts';
import type { AgentCredentials, CredentialStore } from '../../ports/credentials.ts';
import type { Log } from '../../ports/log.ts';
import { AGENT_LABELS } from './agent-labels.ts';
import { resourcePath } from './api/paths.ts';
import type { FollowerDeps, KubeAnswer, KubeRequest } from './api/types.ts';
import { answerText, type Requests, startRequests } from './inventory/requests.ts';

export interface KubernetesCredentialsOptions {
  readonly namespace: string;
  /** Name of the Secret. */
  readonly name: string;
  /** Used instead, with a warning, if the API server refuses this process the Secret. */
  readonly fallback: CredentialStore;
}

const SECRETS = { group: '', version: 'v1', resource: 'secrets' };
/** Creates the empty Secret. Its content has another field manager, so that a second creation is a conflict. */
const CREATOR = 'fleetrelay-agent-maker';
const WRITER = 'fleetrelay-agent';
const EMPTY = { 'tls.crt': '', 'tls.key': '' };

type Refused = Extract<KubeAnswer, { readonly type: 'refused' }>;

/**
 * Credentials in a Secret of the type `kubernetes.io/tls`, which the replicas of an agent share. It is created by an apply,
 * because rights for an apply can be limited to one name. Each write is bound to the version that was read.
 */
export function createKubernetesCredentials(
  deps: FollowerDeps,
  { namespace, name, fallback }: KubernetesCredentialsOptions,
): CredentialStore {
  const path = resourcePath({ resource: SECRETS, namespace, name });
  const secretPlace = `Secret/${namespace}/${name}`;
  const start = (): Requests => startRequests(deps, () => undefined);
  let known: JsonObject | undefined;
  let forbidden = false;
  return {
    get place() {
      return forbidden ? fallback.place : secretPlace;
    },
    async load() {
      const answer = await start().untilAnswered({ method: 'GET', path });
      if (isForbidden(answer)) return useFallback(answer).load();
      forbidden = false;
      if (answer.type === 'refused' && answer.status !== 404) throw new Error(answerText(answer));
      known = answer.type === 'ok' ? answer.body : undefined;
      // An agent that enrolled before it had the right has its credentials in the fallback.
      return (known === undefined ? undefined : read(deps.log, secretPlace, known)) ?? fallback.load();
    },
    async save(credentials) {
      if (forbidden) return fallback.save(credentials);
      const requests = start();
      if (known !== undefined) return write(requests, known, credentials);
      const answer = await requests.untilAnswered(emptySecret(path, namespace, name));
      if (isForbidden(answer)) return useFallback(answer).save(credentials);
      if (answer.type === 'ok' && isEmpty(answer.body)) return write(requests, answer.body, credentials);
      if (answer.type === 'ok' || answer.status === 409) throw overtaken(secretPlace);
      throw new Error(answer.status === 404 ? `the namespace ${namespace} is not there` : answerText(answer));
    },
  };

  function useFallback(answer: Refused): CredentialStore {
    forbidden = true;
    deps.log.warn(
      'the agent may not keep its credentials in a Secret of its namespace: they stay on its disk, and are lost with it',
      { place: secretPlace, kept: fallback.place, detail: answerText(answer) },
    );
    return fallback;
  }

  async function write(requests: Requests, secret: JsonObject, credentials: AgentCredentials): Promise<void> {
    const data = { ...objectOf(secret.data), ...encoded(credentials) };
    const { managedFields: _, ...metadata } = objectOf(secret.metadata);
    const body = { ...secret, metadata, data };
    const answer = await requests.untilAnswered({ method: 'PUT', path, query: { fieldManager: WRITER }, body });
    if (answer.type === 'ok') {
      known = answer.body;
      return;
    }
    if (isForbidden(answer)) return useFallback(answer).save(credentials);
    if (answer.status !== 409 && answer.status !== 404) throw new Error(answerText(answer));
    // Another process has written, or this one has and the answer was lost.
    const now = await requests.untilAnswered({ method: 'GET', path });
    known = now.type === 'ok' ? now.body : undefined;
    if (known === undefined || !holds(known, credentials)) throw overtaken(secretPlace);
  }
}

const CERTIFICATE = '-----BEGIN CERTIFICATE-----';

function isForbidden(answer: KubeAnswer): answer is Refused & { readonly status: 403 } {
  return answer.type === 'refused' && answer.status === 403;
}

function holds({ data }: JsonObject, credentials: AgentCredentials): boolean {
  const present = objectOf(data);
  return Object.entries(encoded(credentials)).every(([member, value]) => textOf(present[member]) === value);
}

function encoded({ key, certificate, roots, requestedKey }: AgentCredentials): Record<string, string> {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return {
    'tls.key': base64(key),
    'tls.crt': base64(certificate),
    'ca.crt': base64(roots),
    'requested.key': base64(requestedKey),
  };
}

function decoded(value: Parameters<typeof textOf>[0]): string {
  return Buffer.from(textOf(value), 'base64').toString('utf8');
}

function emptySecret(path: string, namespace: string, name: string): KubeRequest {
  const metadata = { name, namespace, labels: AGENT_LABELS };
  return {
    method: 'PATCH',
    path,
    query: { fieldManager: CREATOR },
    contentType: 'application/apply-patch+yaml',
    body: { apiVersion: 'v1', kind: 'Secret', metadata, type: 'kubernetes.io/tls', data: EMPTY },
  };
}

function isEmpty({ data }: JsonObject): boolean {
  return canonicalJson(data ?? null) === canonicalJson(EMPTY);
}

function read(log: Log, place: string, { data }: JsonObject): AgentCredentials | undefined {
  const { 'tls.key': key, 'tls.crt': certificate, 'ca.crt': roots, 'requested.key': requestedKey } = objectOf(data);
  const credentials = {
    key: decoded(key),
    certificate: decoded(certificate),
    roots: decoded(roots),
    requestedKey: decoded(requestedKey),
  };
  if (Object.values(credentials).every((text) => text === '')) return undefined;
  const isPair = credentials.key.includes('PRIVATE KEY-----') && credentials.certificate.includes(CERTIFICATE);
  if (isPair || (credentials.key === '' && credentials.certificate === '')) return credentials;
  const reason = 'tls.key and tls.crt do not hold a key and a certificate in PEM form';
  log.error('the stored credentials are damaged and are ignored', { place, reason });
  return undefined;
}

function overtaken(place: string): Error {
  return new Error(`${place} was changed by another process`);
}
