import type { Act, Answer, Refusal } from '../api/answer.ts';
import type { ApiAct, Texts } from '../api/domain-api.ts';
import type { Receipt } from '../model/fleet/receipt.ts';
import { errorText } from '../model/text/messages.ts';
import { given } from '../model/values/given.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { PeopleApi } from './people-api.ts';

const MAX_NAME = 200;
/** The kind, namespace and name of an object. */
const MAX_OBJECT = 1_000;
/** An act is answered within this time. Callers wait fifteen seconds. */
const ANSWER_MS = 8_000;

/** An act, with the function of the API that it calls. */
interface ActOfApi extends Omit<ApiAct, 'run'> {
  readonly run: (api: PeopleApi, texts: Texts, by: string) => Promise<Act<object>>;
}

/** What people can do by the API, besides the acts of domains. */
export const ACTS = [
  {
    path: '/approvals',
    needed: { digest: MAX_NAME },
    run: (api, { digest = '' }, by) => api.approve(digest, by),
  },
  {
    path: '/clusters/:name/retry',
    optional: { object: MAX_OBJECT },
    run: (api, { name = '', object }, by) => api.retryCluster(name, object, by),
  },
  {
    path: '/sources/:name/accept',
    needed: { revision: MAX_NAME },
    run: (api, { name = '', revision = '' }, by) => api.accept(name, revision, by),
  },
  {
    path: '/clusters/:name/accept',
    isTrust: true,
    optional: { id: MAX_NAME, key: MAX_NAME },
    run: (api, { name = '', id, key }, by) => api.acceptCluster(name, given({ id, key }), by),
  },
  {
    path: '/clusters/:name/revoke-certificates',
    isTrust: true,
    optional: { serial: MAX_NAME },
    run: (api, { name = '', serial }, by) => api.revokeCertificates(name, serial, by),
  },
  { path: '/clusters/:name/replace', run: (api, { name = '' }, by) => api.replaceCluster(name, by) },
  { path: '/clusters/:name/give-back', run: (api, { name = '' }, by) => api.giveBackCluster(name, by) },
  { path: '/clusters/:name/renew-token', isTrust: true, run: (api, { name = '' }, by) => api.renewToken(name, by) },
  {
    path: '/clusters/:name/suspend',
    optional: { reason: MAX_NAME },
    run: (api, { name = '', reason = '' }, by) => api.suspendCluster(name, by, reason),
  },
  { path: '/clusters/:name/resume', run: (api, { name = '' }, by) => api.resumeCluster(name, by) },
  {
    path: '/sources/:name/suspend',
    optional: { reason: MAX_NAME },
    run: (api, { name = '', reason = '' }, by) => api.suspendSource(name, by, reason),
  },
  { path: '/sources/sync', run: (api, _texts, by) => api.syncSources(undefined, by) },
  { path: '/sources/:name/sync', run: (api, { name = '' }, by) => api.syncSources(name, by) },
  { path: '/sources/:name/resume', run: (api, { name = '' }, by) => api.resumeSource(name, by) },
] as const satisfies readonly ActOfApi[];

/** Everything that people can do by this API. */
export function actsOf(api: PeopleApi): readonly ApiAct[] {
  const own = ACTS.map((act: ActOfApi): ApiAct => ({ ...act, run: (texts, by) => act.run(api, texts, by) }));
  return [...own, ...api.acts];
}

/** Does an act for a person, and answers when it is durable. */
export type CarryOut = (act: ApiAct, texts: Texts, by: string) => Promise<Answer<object>>;

/** `storeForgets`: the store is gone with the process. */
export interface DurabilityOptions {
  readonly storeForgets: boolean;
}

/**
 * Every act passes here. It is answered when what it has changed is durable; else, after a bounded time, with a refusal that says that
 * this is not known. It may be in force all the same, and is still written as soon as that is possible.
 */
export function createActs(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  { storeForgets }: DurabilityOptions,
): CarryOut {
  const answered = async (
    act: ApiAct,
    doing: Promise<Act<object>>,
    begun: (receipt: Receipt) => void,
  ): Promise<Answer<object>> => {
    const done = await doing;
    if (!done.ok) return done;
    begun(done.receipt);
    if (!(await done.receipt.written)) return unrecorded(OTHER_LEADS);
    return { ok: true, value: storeForgets && act.isTrust !== true ? { ...done.value, note: FORGOTTEN } : done.value };
  };
  return async (act, texts, by) => {
    const over = new AbortController();
    let receipt: Receipt | undefined;
    const answer = answered(act, act.run(texts, by), (of) => {
      receipt = of;
    });
    const late = clock.sleep(ANSWER_MS, over.signal).then(() => unrecorded(lateness(receipt)));
    try {
      return await Promise.race([answer, late]);
    } catch (error) {
      log.error('an act has failed', { act: act.path, error: errorText(error) });
      return unrecorded('it has failed, and the log of the server says more');
    } finally {
      over.abort();
      receipt?.cancel();
    }
  };
}

/** With an act that is recorded in a store of the type memory. */
const FORGOTTEN = 'a restart of the server forgets this: its store is of the type memory';
const OTHER_LEADS = 'another server of the fleet leads now, and may not know of it';

function lateness(receipt: Receipt | undefined): string {
  const within = `within ${ANSWER_MS / 1000} s`;
  if (receipt === undefined) return `it was begun, and has no result ${within}`;
  return receipt.problem() ?? `the store has not confirmed it ${within}`;
}

function unrecorded(why: string): Refusal {
  const message = `whether this is in force, also after a restart, is not known: ${why}. Do it again until it is confirmed, which does no harm`;
  return { ok: false, kind: 'unrecorded', message };
}
