import type { KubeClient } from '../../../../adapters/kubernetes/api/types.ts';
import { errorText } from '../../../../model/text/messages.ts';
import type { Clock } from '../../../../ports/clock.ts';
import type { Log } from '../../../../ports/log.ts';
import type { InjectorSettings } from '../../model/injector-settings.ts';
import type { ProxyContainerOptions } from '../../probes/proxy-container.ts';
import { type InjectionResult, reviewPod } from './review.ts';
import { excludedNamespaces } from './webhook-configuration.ts';
import { ConflictError, createWebhookReconciler, type WebhookReconcilerOptions } from './webhook-reconciler.ts';
import { createWebhookServer } from './webhook-server.ts';
import { pairProblem, type ServedCertificate } from './webhook-trust.ts';

export interface WebhookDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly client: KubeClient;
  readonly count: (result: InjectionResult) => void;
}

export interface WebhookOptions extends WebhookReconcilerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly container: ProxyContainerOptions;
}

/** The webhook of one replica. */
export type Webhook = Awaited<ReturnType<typeof startWebhook>>;

const LOOK_MS = 5_000;
const CONFLICT_MS = 200;
/** API servers hear late that a replica ends. */
const LINGER_MS = 5_000;

/**
 * Serves the webhook of one replica. All replicas read certificate and settings from a Secret; the one that leads renews them,
 * and keeps the fields of the MutatingWebhookConfiguration that depend on them. Rejects if the address is taken.
 */
export async function startWebhook(deps: WebhookDeps, options: WebhookOptions) {
  const { clock, log } = deps;
  const reconciler = createWebhookReconciler(deps, options);
  const excluded = excludedNamespaces(options.namespace);
  const server = createWebhookServer({
    ...deps,
    review: (body) => reviewPod(body, { settings: reconciler.settings(), container: options.container, excluded }),
  });
  let served: ServedCertificate | undefined;
  let leader: KubeClient | undefined;
  /** For people; undefined: the last look succeeded. */
  let lastProblem: string | undefined;
  const address = await server.listen(options.listen);
  const looks = startLooks(clock, Math.min(LOOK_MS, options.caLifeMs / 40), look);
  return {
    address,
    /** Why Pods are not served; undefined: they are. */
    problem: (): string | undefined =>
      served === undefined
        ? `the webhook has no certificate yet${lastProblem === undefined ? '' : `: ${lastProblem}`}`
        : undefined,
    /** Whether the cluster has the configuration of this webhook; undefined: this replica does not lead. */
    isConfigured: (): boolean | undefined => (leader === undefined ? undefined : reconciler.isConfigured()),
    /** Takes settings from the server. */
    take(next: InjectorSettings): void {
      reconciler.receive(next);
      looks.now();
    },
    /** Lets this replica write, with the client of its term, until the returned function is called. */
    lead(term: KubeClient): () => void {
      leader = term;
      looks.now();
      return () => {
        leader = undefined;
        reconciler.receive(undefined);
      };
    },
    /** Serves a little longer, and ends. */
    async stop(): Promise<void> {
      await looks.stop();
      if (served !== undefined) await clock.sleep(LINGER_MS);
      await server.stop();
    },
  };

  /** Returns whether to look again at once. */
  async function look(): Promise<boolean> {
    try {
      // What the replicas share may be good, although the configuration cannot be written.
      await (leader === undefined ? reconciler.follow() : reconciler.keep(leader)).finally(serve);
      lastProblem = undefined;
    } catch (error) {
      if (error instanceof ConflictError) return true;
      const reason = errorText(error);
      if (reason !== lastProblem) log.warn('the webhook cannot be kept up to date', { reason });
      lastProblem = reason;
    }
    return false;
  }

  async function serve(): Promise<void> {
    const next = await reconciler.served();
    if (next === undefined || (next.certificate === served?.certificate && next.key === served.key)) return;
    const found = pairProblem(next);
    if (found !== undefined) throw new Error(`the certificate of the webhook cannot be served: ${found}`);
    server.use(next);
    served = next;
    log.info('the webhook serves another certificate');
  }
}

/** Looks again and again, one look at a time. */
function startLooks(clock: Clock, everyMs: number, look: () => Promise<boolean>) {
  let wake = new AbortController();
  let isOver = false;
  const run = async (): Promise<void> => {
    while (!isOver) {
      wake = new AbortController();
      const again = await look();
      if (!isOver) await clock.sleep(again ? CONFLICT_MS : everyMs, wake.signal);
    }
  };
  const ended = run();
  return {
    /** Looks as soon as the look under way has ended. */
    now: (): void => wake.abort(),
    stop(): Promise<void> {
      isOver = true;
      wake.abort();
      return ended;
    },
  };
}
