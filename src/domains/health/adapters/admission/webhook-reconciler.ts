import { readFile } from 'node:fs/promises';
import type { KubeAnswer, KubeClient, KubeRequest } from '../../../../adapters/kubernetes/api/types.ts';
import { answerText } from '../../../../adapters/kubernetes/inventory/requests.ts';
import { rootsText } from '../../../../adapters/tls/own-authority.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../../../model/text/json.ts';
import { given } from '../../../../model/values/given.ts';
import type { Clock } from '../../../../ports/clock.ts';
import type { Log } from '../../../../ports/log.ts';
import type { InjectorSettings } from '../../model/injector-settings.ts';
import { healthDefaults } from '../../model/settings.ts';
import { keepConfiguration } from './keep-configuration.ts';
import { readShared, type SharedWebhook, secretRequests } from './webhook-secret.ts';
import { NO_TRUST, renewTrust, type ServedCertificate, withAnnounced } from './webhook-trust.ts';

export interface WebhookReconcilerOptions {
  /** The agent's own namespace. */
  readonly namespace: string;
  /** Names of the MutatingWebhookConfiguration, of the Service and of the Secret that replicas share. */
  readonly configuration: string;
  readonly service: string;
  readonly secret: string;
  /** Life of the webhook's own authority in milliseconds. */
  readonly caLifeMs: number;
  /** Paths of a certificate that another program renews; absent: the agent makes its own. */
  readonly files?:
    | { readonly certFile: string; readonly keyFile: string; readonly caFile?: string | undefined }
    | undefined;
}

/** Another process has written first. */
export class ConflictError extends Error {}

/** What the replicas of a webhook share: in the Secret, and in the MutatingWebhookConfiguration. One call at a time. */
export function createWebhookReconciler(
  { clock, log, client }: { readonly clock: Clock; readonly log: Log; readonly client: KubeClient },
  { namespace, service, files, caLifeMs, ...options }: WebhookReconcilerOptions,
) {
  const secret = secretRequests({ namespace, name: options.secret });
  const names = [`${service}.${namespace}.svc`, `${service}.${namespace}.svc.cluster.local`];
  let shared: SharedWebhook = { trust: NO_TRUST, settings: undefined };
  /** From the server, in this term. */
  let received: InjectorSettings | undefined;
  let isConfigured: boolean | undefined;
  const settings = (): InjectorSettings => received ?? shared.settings ?? healthDefaults.injector;

  return {
    settings,
    receive(next: InjectorSettings | undefined): void {
      received = next;
    },
    /** Whether the configuration was there at the last look. */
    isConfigured: (): boolean | undefined => isConfigured,
    /** Reads what the leader has written. Rejects while it cannot be read. */
    async follow(): Promise<void> {
      const found = await ask(client, secret.read);
      if (found !== undefined) shared = readShared(found, log);
      else if (files === undefined) throw new Error(`the Secret ${namespace}/${options.secret} is not there yet`);
    },
    /** As the leader: renews what is due and tells the API server of it. Rejects if it cannot, or with a ConflictError. */
    async keep(term: KubeClient): Promise<void> {
      let found = (await ask(term, secret.read)) ?? (await ask(term, secret.create));
      if (found === undefined) throw new Error(`the namespace ${namespace} is not there`);
      shared = readShared(found, log);
      const save = async (next: SharedWebhook): Promise<void> => {
        if (found === undefined || textOfShared(next) === textOfShared(shared)) return;
        found = await ask(term, secret.write(found, next));
        if (found === undefined) throw new ConflictError('the Secret was removed');
        shared = next;
      };
      const now = clock.now();
      const trust = files === undefined ? await renewTrust(shared.trust, now, { caLifeMs, names }) : shared.trust;
      await save({ trust, settings: received ?? shared.settings });
      const isThere = await tell(term, files === undefined ? rootsText(trust.authorities) : await readCa());
      if (isThere && files === undefined) await save({ ...shared, trust: withAnnounced(shared.trust, now) });
    },
    /** The certificate to serve; undefined: there is none yet. Rejects if its files cannot be read. */
    async served(): Promise<ServedCertificate | undefined> {
      if (files === undefined) return shared.trust.served;
      const [certificate, key] = await Promise.all([readFile(files.certFile, 'utf8'), readFile(files.keyFile, 'utf8')]);
      return { certificate, key };
    },
  };

  async function tell(term: KubeClient, caBundle: string | undefined): Promise<boolean> {
    const name = options.configuration;
    const fields = { failurePolicy: settings().failurePolicy, ...given({ caBundle }) };
    const kept = await keepConfiguration({ client: term, log }, name, fields);
    if (kept === 'missing' && isConfigured !== false) {
      log.warn('there is no MutatingWebhookConfiguration for the webhook: no Pod is rewritten', { name });
    }
    isConfigured = kept === 'kept';
    return isConfigured;
  }

  async function readCa(): Promise<string | undefined> {
    return files?.caFile === undefined ? undefined : readFile(files.caFile, 'utf8');
  }
}

function textOfShared({ trust, settings }: SharedWebhook): string {
  return canonicalJson({ trust, settings: settings ?? null } as unknown as JsonValue);
}

/** The object of the answer; undefined: there is none. */
async function ask(client: KubeClient, request: KubeRequest): Promise<JsonObject | undefined> {
  const answer: KubeAnswer = await client.request({ timeoutMs: 10_000, ...request });
  if (answer.type === 'ok') return answer.body;
  if (answer.type === 'refused' && answer.status === 404) return undefined;
  if (answer.type === 'refused' && answer.status === 409) throw new ConflictError(answerText(answer));
  throw new Error(answerText(answer));
}
