import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { createBodies } from '../http/bodies.ts';
import { quote } from '../model/fleet/ids.ts';
import type { PullRequestsConfig } from '../model/fleet/relay-config.ts';
import { textOf } from '../model/text/json.ts';
import type { Log } from '../ports/log.ts';
import { type ApiAccess, type Identified, identify } from './authorize.ts';
import { bodyOf, type Header } from './hook-body.ts';
import { type ErrorReason, refuse } from './http-error.ts';
import { isAbout, pullRequestEvent } from './pull-request-event.ts';

/** A source that a hook triggers. */
export interface HookTarget {
  readonly source: string;
  /** The secret that a caller must prove to know; undefined: callers of the API are believed, by their token or socket. */
  readonly secret: string | undefined;
  /** The branch that it follows; absent: the default branch of the remote. */
  readonly branch?: string | undefined;
  /** Looks at the source now. Cheap; many calls in a row are one look. */
  trigger(): void;
  /** Absent: pull requests are not planned. */
  readonly pullRequests?: HookPullRequests;
}

/** The pull requests that a hook of a source may tell of. */
export interface HookPullRequests extends Pick<PullRequestsConfig, 'host' | 'repository'> {
  readonly branch: string;
  /** Queues a pull request; false: too many wait. Rejects if the store does not answer. */
  request(pullRequest: number): Promise<boolean>;
}

/** The sources that hooks trigger, read at each call. */
export interface GitHooks {
  targets(): readonly HookTarget[];
}

/** What hooks need to know of callers. */
export interface HookAccess {
  /** Callers with a token of the role `operate`, or at the Unix socket, may trigger sources without a secret. */
  readonly api: ApiAccess;
  /** Is told of refused calls, at a limited rate. */
  readonly strangers: Log;
}

const MAX_BODY_BYTES = 5 << 20;
/** A body is in memory until its signature is checked. */
const BODIES = {
  known: { most: MAX_BODY_BYTES, mostAtOnce: 64 << 20 },
  unknown: { most: MAX_BODY_BYTES, mostAtOnce: 16 << 20 },
} as const;
/** The headers with a signature of the body: of GitHub, Gitea and Forgejo; of Gitea. */
const SIGNATURES = ['X-Hub-Signature-256', 'X-Gitea-Signature'] as const;
/** The header in which GitLab sends the secret. */
const TOKEN = 'X-Gitlab-Token';

/**
 * `POST /git` triggers every source whose secret the caller proves to know, `POST /git/:source` the named one. Callers with a
 * token of the API trigger a source without a secret. A hook only says that it is worth looking. A hook about a push to another
 * branch, such as the status branch, is ignored. The number of a pull request is taken from the body if the body names the
 * repository and the branch of the source.
 */
export function hookRoutes(hooks: GitHooks, access: HookAccess, log: Log): Hono<HookEnv> {
  const routes = new Hono<HookEnv>();
  // A browser shows a certificate for any web page.
  const withToken = { ...access.api, certificates: false };
  const bodies = { known: createBodies(BODIES.known), unknown: createBodies(BODIES.unknown) };
  const handle = async (context: Context<HookEnv>): Promise<Response> => {
    const name = context.req.param('source');
    const targets = hooks.targets().filter(({ source }) => name === undefined || source === name);
    const missing = name === undefined ? 'no git source is configured' : `no git source ${quote(name)}`;
    if (targets.length === 0) return refuse(context, 'NotFound', missing);
    const refusal = (reason: ErrorReason, message: string): Response => {
      access.strangers.warn('a hook was refused', { sources: targets.map(({ source }) => source), reason: message });
      return refuse(context, reason, message);
    };
    const caller = targets.some(({ secret }) => secret === undefined) ? identify(context, withToken) : undefined;
    const proven = targets.filter((target) => hasToken(context, target, caller));
    const isSigned = SIGNATURES.some((name) => context.req.header(name) !== undefined);
    if (proven.length === 0 && !isSigned) return refusal(...withoutProof(context, targets, caller));
    const body = await bodies[proven.length > 0 ? 'known' : 'unknown'].receive(context.env.incoming);
    if (!body.ok) return refusal(body.reason, body.message);
    const believed = targets.filter((target) => proven.includes(target) || signs(context, target, body.bytes));
    if (believed.length === 0) return refusal('Unauthorized', 'the signature does not match the hook secret');
    return answer(context, body.bytes, believed, log);
  };
  for (const path of ['/git', '/git/:source']) {
    routes.post(path, handle);
    routes.all(path, (context) => {
      context.header('Allow', 'POST');
      return refuse(context, 'MethodNotAllowed', 'hooks are sent with POST');
    });
  }
  return routes;
}

type HookEnv = { readonly Bindings: HttpBindings };

/** True if a token proves, before the body has arrived, that the caller may trigger the source. */
function hasToken({ req }: Context, { secret }: HookTarget, caller: Identified | undefined): boolean {
  if (secret === undefined) return caller?.ok === true && caller.caller.role === 'operate';
  const token = req.header(TOKEN);
  // An empty secret proves nothing.
  return token !== undefined && secret !== '' && secretsEqual(token, secret);
}

/** Why a call with neither a right token nor a signature is refused. */
function withoutProof(
  { req }: Context,
  targets: readonly HookTarget[],
  caller: Identified | undefined,
): readonly [ErrorReason, string] {
  if (caller?.ok === true) return ['Forbidden', `${caller.caller.name} may trigger no source (role read)`];
  if (req.header(TOKEN) !== undefined) return ['Unauthorized', 'the token does not match the hook secret'];
  const needed = targets.some(({ secret }) => secret !== undefined)
    ? `set the hook secret at the git host (${SIGNATURES.join(', ')} or ${TOKEN})`
    : 'give the source a hook secret, or send an API token of the role operate (Authorization: Bearer ...)';
  return ['Unauthorized', `nothing proves where the call comes from: ${needed}`];
}

async function answer(
  context: Context,
  body: Uint8Array,
  believed: readonly HookTarget[],
  log: Log,
): Promise<Response> {
  const ref = pushedRef((name) => context.req.header(name), body);
  const isDue = ({ branch }: HookTarget): boolean =>
    ref === undefined || branch === undefined || ref === `refs/heads/${branch}`;
  const due = believed.filter(isDue);
  for (const target of due) target.trigger();
  const sources = due.map(({ source }) => source);
  log.debug('a hook was accepted', { sources, ref });
  return (await requestPullRequest(context, body, believed, log)) ?? context.json({ accepted: true, sources }, 202);
}

/** Queues the pull request that the call is about; undefined: it is about none of these sources. */
async function requestPullRequest(
  context: Context,
  body: Uint8Array,
  believed: readonly HookTarget[],
  log: Log,
): Promise<Response | undefined> {
  const event = pullRequestEvent((name) => context.req.header(name), body);
  if (event === undefined) return undefined;
  const about = believed.filter(({ pullRequests }) => pullRequests !== undefined && isAbout(event, pullRequests));
  if (about.length === 0) return undefined;
  const queued = await Promise.allSettled(about.map(({ pullRequests }) => pullRequests?.request(event.number)));
  const sources = about.map(({ source }) => source);
  const failure = queued.find((each) => each.status === 'rejected');
  if (failure !== undefined) {
    log.warn('a pull request could not be queued', { sources, error: failure.reason });
    return refuse(context, 'Unavailable', 'the store does not answer; send the hook again later');
  }
  const full = sources.filter((_, index) => queued[index]?.status === 'fulfilled' && queued[index].value !== true);
  if (full.length === 0) return context.json({ accepted: true, sources, pullRequest: event.number }, 202);
  return refuse(context, 'Unavailable', `too many pull requests of ${full.join(', ')} wait; send the hook again later`);
}

/** True if a header proves knowledge of the secret of the source for exactly these bytes. */
function signs({ req }: Context, { secret }: HookTarget, body: Uint8Array): boolean {
  // Any caller could sign with an empty secret.
  if (secret === undefined || secret === '') return false;
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const [hub, gitea] = SIGNATURES.map((name) => req.header(name));
  return (
    (hub !== undefined && secretsEqual(hub.toLowerCase(), `sha256=${signature}`)) ||
    (gitea !== undefined && secretsEqual(gitea.toLowerCase(), signature))
  );
}

/** Compares two secrets in constant time; the digests also hide their lengths. */
function secretsEqual(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
  return timingSafeEqual(digest(a), digest(b));
}

/** The full name of the ref that a hook tells a push to; undefined: the call is about no push, or its body names no ref. */
function pushedRef(header: Header, body: Uint8Array): string | undefined {
  const isPush =
    header('X-Gitlab-Event') === 'Push Hook' || (header('X-Gitea-Event') ?? header('X-GitHub-Event')) === 'push';
  const ref = isPush ? textOf(bodyOf(header, body).ref) : '';
  return ref === '' ? undefined : ref;
}
